"""The keys of an Alertmanager configuration, 0.25 to 0.35.

They are listed at https://prometheus.io/docs/alerting/latest/configuration/. A key is followed by what stands there, a
text where nothing is said: `?` a boolean, `{` a mapping, `[` a list, `#` an integer, `~` a duration, `@` an address,
`:` a host and a port, `*` anything.
"""

from __future__ import annotations

from functools import lru_cache

TEXT, BOOLEAN, MAPPING, LIST, INTEGER, DURATION, ADDRESS, HOST, ANYTHING = "", "?", "{", "[", "#", "~", "@", ":", "*"

TOP = (
    "global{ templates[ route{ receivers[ inhibit_rules[ mute_time_intervals[ time_intervals[ tracing{ event_recorder{"
)
ROUTE = (
    "receiver group_by[ continue? matchers[ match{ match_re{ labels{ group_wait~ group_interval~ repeat_interval~"
    " mute_time_intervals[ active_time_intervals[ routes["
)
INHIBIT_RULE = (
    "name source_matchers[ source_match{ source_match_re{ target_matchers[ target_match{ target_match_re{ equal["
)
TIME_INTERVAL = "name time_intervals["
PERIOD = "times[ weekdays[ days_of_month[ months[ years[ location"
TIME_RANGE = "start_time end_time"

GLOBAL = (
    "resolve_timeout~ http_config{ jira_api_url@ smtp_from smtp_hello smtp_smarthost: smtp_auth_username"
    " smtp_auth_password smtp_auth_password_file smtp_auth_secret smtp_auth_secret_file smtp_auth_identity"
    " smtp_require_tls? smtp_tls_config{ smtp_force_implicit_tls? slack_api_url@ slack_api_url_file slack_app_token"
    " slack_app_token_file slack_app_url@ pagerduty_url@ opsgenie_api_url@ opsgenie_api_key opsgenie_api_key_file"
    " wechat_api_url@ wechat_api_secret wechat_api_secret_file wechat_api_corp_id victorops_api_url@ victorops_api_key"
    " victorops_api_key_file telegram_api_url@ telegram_bot_token telegram_bot_token_file webex_api_url@"
    " rocketchat_api_url@ rocketchat_token rocketchat_token_file rocketchat_token_id rocketchat_token_id_file"
    " mattermost_webhook_url@ mattermost_webhook_url_file"
)
HTTP = (
    "basic_auth{ authorization{ oauth2{ bearer_token bearer_token_file tls_config{ follow_redirects? enable_http2?"
    " proxy_url no_proxy proxy_from_environment? proxy_connect_header{ http_headers{"
)
TLS = (
    "ca ca_file ca_ref cert cert_file cert_ref key key_file key_ref server_name insecure_skip_verify? min_version"
    " max_version"
)

_HTTP = "send_resolved? http_config{ "
_WEBHOOK = _HTTP + "webhook_url@ webhook_url_file "
INTEGRATIONS = {
    "discord_configs": _WEBHOOK + "content title message username avatar_url",
    "email_configs": "send_resolved? to from hello smarthost: auth_username auth_password auth_password_file"
    " auth_secret auth_secret_file auth_identity headers{ html text require_tls? tls_config{ force_implicit_tls?"
    " threading{",
    "incidentio_configs": _HTTP + "url@ url_file alert_source_token alert_source_token_file max_alerts# timeout"
    " metadata*",
    "jira_configs": _HTTP + "api_url@ api_type project summary* description* labels[ priority issue_type"
    " reopen_transition resolve_transition wont_fix_resolution reopen_duration~ fields{",
    "mattermost_configs": _WEBHOOK + "channel username text fallback color pretext author_name author_link author_icon"
    " title title_link fields[ thumb_url footer footer_icon image_url icon_url icon_emoji attachments[ type props{"
    " priority{",
    "msteams_configs": _WEBHOOK + "title summary text",
    "msteamsv2_configs": _WEBHOOK + "title text",
    "opsgenie_configs": _HTTP + "api_key api_key_file api_url@ message description source details{ entity responders["
    " actions tags note priority update_alerts?",
    "pagerduty_configs": _HTTP + "routing_key routing_key_file service_key service_key_file url@ client client_url"
    " description details{ images[ links[ source severity class component group timeout",
    "pushover_configs": _HTTP + "user_key user_key_file token token_file title message url url_title device sound"
    " priority retry expire ttl html? monospace?",
    "rocketchat_configs": _HTTP + "api_url@ token_id token_id_file token token_file channel color title title_link text"
    " fields[ short_fields? emoji icon_url image_url thumb_url link_names? actions[",
    "slack_configs": _HTTP + "api_url@ api_url_file app_token app_token_file app_url@ channel username color title"
    " title_link pretext text message_text fields[ short_fields? footer fallback callback_id icon_emoji icon_url"
    " image_url thumb_url link_names? mrkdwn_in[ actions[ update_message? timeout",
    "sns_configs": _HTTP + "api_url sigv4{ topic_arn phone_number target_arn subject message attributes{"
    " use_aws_http_client?",
    "telegram_configs": _HTTP + "api_url@ bot_token bot_token_file chat_id# chat_id_file message_thread_id# message"
    " disable_notifications? parse_mode",
    "victorops_configs": _HTTP + "api_key api_key_file api_url@ routing_key message_type state_message"
    " entity_display_name monitoring_tool custom_fields{",
    "webex_configs": _HTTP + "api_url@ message room_id",
    "webhook_configs": _HTTP + "url@ url_file max_alerts# timeout payload*",
    "wechat_configs": _HTTP + "api_secret api_secret_file corp_id message api_url@ to_user to_party to_tag agent_id"
    " message_type",
}  # fmt: skip
RECEIVER = "name labels{ " + " ".join(f"{name}[" for name in INTEGRATIONS)

_SLACK = "api_url api_url_file app_token app_token_file"
# Of each group of keys an integration needs one; what stands behind the bar are keys of `global` that do as well.
NEEDS = {
    "discord_configs": ("webhook_url webhook_url_file",),
    "email_configs": ("to", "smarthost | smtp_smarthost", "from | smtp_from"),
    "incidentio_configs": ("url url_file",),
    "jira_configs": ("project", "issue_type", "api_url | jira_api_url"),
    "mattermost_configs": ("webhook_url webhook_url_file | mattermost_webhook_url mattermost_webhook_url_file",),
    "msteams_configs": ("webhook_url webhook_url_file",),
    "msteamsv2_configs": ("webhook_url webhook_url_file",),
    "opsgenie_configs": ("api_key api_key_file | opsgenie_api_key opsgenie_api_key_file",),
    "pagerduty_configs": ("routing_key routing_key_file service_key service_key_file",),
    "pushover_configs": ("user_key user_key_file", "token token_file"),
    "rocketchat_configs": (
        "token token_file | rocketchat_token rocketchat_token_file",
        "token_id token_id_file | rocketchat_token_id rocketchat_token_id_file",
    ),
    "slack_configs": (f"{_SLACK} | {' '.join(f'slack_{key}' for key in _SLACK.split())}",),
    "sns_configs": ("topic_arn phone_number target_arn",),
    "telegram_configs": (
        "bot_token bot_token_file | telegram_bot_token telegram_bot_token_file",
        "chat_id chat_id_file",
    ),
    "victorops_configs": ("routing_key", "api_key api_key_file | victorops_api_key victorops_api_key_file"),
    "webex_configs": ("room_id",),
    "webhook_configs": ("url url_file",),
    "wechat_configs": ("api_secret api_secret_file | wechat_api_secret wechat_api_secret_file",
                       "corp_id | wechat_api_corp_id"),
}  # fmt: skip


@lru_cache(maxsize=None)  # noqa: UP033 - as many as there are tables above
def keys(table: str) -> dict[str, str]:
    """Return the keys of a table and what stands there."""
    return {word.rstrip("?{[#~@:*"): word[len(word.rstrip("?{[#~@:*")) :] for word in table.split()}

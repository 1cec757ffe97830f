"""Settings: the table `[tool.watchkeeper]` of pyproject.toml."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding, Place, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from watchkeeper.folders import Folder
    from watchkeeper.policy import Policy
    from watchkeeper.sync.settings import Options

Version = tuple[int, int]


class SettingsError(Exception):
    """Settings that can't be used: `findings` tell each fault."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = findings


@dataclass(frozen=True)
class Targets:
    """The oldest versions in use: nothing newer is generated."""

    prometheus: Version = (2, 42)
    alertmanager: Version = (0, 25)
    grafana: Version = (12, 2)

    @classmethod
    def newest(cls) -> Targets:
        """Return targets that nothing is too new for."""
        return cls((99, 0), (99, 0), (99, 0))


@dataclass(frozen=True)
class Settings:
    """What a project says of itself.

    `root`: the folder of pyproject.toml; generated files go below it. `definitions`: `module:PACK`. `teams`: the teams
    that may own an alert, empty for any. `runbook_url`: where runbook pages are, `{runbook}` in it stands for the name
    of the page, else the name is put behind. `grafana_url`: where Grafana is, for links from alerts to panels. Without
    a URL, or with an empty one, alerts carry no such link. `timezone`: of the times on a page, such as `Europe/Paris`;
    UTC where it is empty, and where Alertmanager is too old for it. `policy`: the team's own rules for rules, None
    without any. `outputs`: what else is written, below deploy/, with the options of each kind.
    `folders`: Grafana's folders by their uids. `sync`: the servers that `watchkeeper sync` writes to, None without any.
    """

    root: Path
    definitions: str = ""
    teams: tuple[str, ...] = ()
    runbook_url: str = ""
    grafana_url: str = ""
    timezone: str = ""
    targets: Targets = field(default_factory=Targets)
    policy: Policy | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict)
    folders: Mapping[str, Folder] = field(default_factory=dict)
    sync: Options | None = None

    def runbook(self, name: str) -> str:
        """Return the address of a runbook page, empty where none is configured."""
        if not self.runbook_url or not name:
            return ""
        if "{runbook}" in self.runbook_url:
            return self.runbook_url.replace("{runbook}", name)
        return f"{self.runbook_url.rstrip('/')}/{name}"

    def panel(self, uid: str, panel_id: int) -> str:
        """Return the address of a dashboard's panel, empty where no Grafana is configured."""
        return f"{self.grafana_url.rstrip('/')}/d/{uid}?viewPanel=panel-{panel_id}" if self.grafana_url else ""


def load_settings(start: Path) -> Settings:
    """Read the settings of the nearest pyproject.toml with `[tool.watchkeeper]`, from `start` upwards.

    Raises:
        SettingsError: a file that is no TOML, an unknown key, or a value that can't be.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        table = _table(path)
        if table is not None:
            return _Reader(path).settings(table)
    return Settings(root=start)


def _table(path: Path) -> dict[str, Any] | None:
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([Finding("settings/file", f"can't be read: {error}", Place(str(path)))]) from error
    try:
        import tomllib as toml
    except ModuleNotFoundError:  # Python 3.10
        import tomli as toml  # type: ignore[import-not-found,no-redef,unused-ignore]
    try:
        document = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise SettingsError([Finding("settings/file", f"is not TOML: {error}", Place(str(path)))]) from error
    except RecursionError:  # tomllib calls itself for each level
        raise SettingsError([Finding("settings/file", "is nested too deep to be read", Place(str(path)))]) from None
    tools = document.get("tool", {})
    table = tools.get("watchkeeper") if isinstance(tools, dict) else tools
    if table is not None and not isinstance(table, dict):
        raise SettingsError([Finding("settings/value", "tool.watchkeeper must be a table", Place(str(path)))])
    return table


class _Reader:
    """Reads the table, gathering all faults before it complains."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.findings: list[Finding] = []

    def settings(self, table: dict[str, Any]) -> Settings:
        known = [f.name for f in fields(Settings) if f.name != "root"]
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in known:
                self.fault(
                    "settings/key", f'unknown key "{key}"{nearest(key, known)}', f"the keys are {', '.join(known)}"
                )
            elif key == "targets":
                values[key] = self.targets(value)
            elif key == "policy":
                from watchkeeper import policy  # which most have none of

                values[key] = policy.read(value, self.fault)
            elif key == "outputs":
                from watchkeeper import outputs  # which most have none of

                values[key] = outputs.read(value, self.fault)
            elif key == "folders":
                from watchkeeper import folders  # which most have none of

                values[key] = folders.read(value, self.fault)
            elif key == "sync":
                from watchkeeper.sync import settings as sync  # which most have none of

                values[key] = sync.read(value, self.fault)
            elif key == "teams":
                if isinstance(value, list) and all(isinstance(team, str) for team in value):
                    values[key] = tuple(value)
                else:
                    self.fault("settings/value", "teams must be a list of names", 'write teams = ["inference-sre"]')
            elif not isinstance(value, str):
                self.fault("settings/value", f"{key} must be a string, not {value!r}")
            elif value and key.endswith("_url") and not re.match(r"(?i:https?)://\S+\Z", value):
                self.fault("settings/value", f'{key} is not an address: "{value}"', "write https://host/path")
            elif key == "timezone" and not _is_zone(value):
                self.fault(
                    "settings/value", f'timezone is no time zone: "{value}"', 'write timezone = "America/Los_Angeles"'
                )
            else:
                values[key] = value
        if self.findings:
            raise SettingsError(self.findings)
        return Settings(root=self.path.parent, **values)

    def targets(self, value: object) -> Targets:
        known = [f.name for f in fields(Targets)]
        if not isinstance(value, dict):
            self.fault("settings/value", "targets must be a table", 'write targets = {prometheus = "2.42"}')
            return Targets()
        versions: dict[str, Version] = {}
        for key, text in value.items():
            if key not in known:
                self.fault(
                    "settings/key",
                    f'unknown target "{key}"{nearest(key, known)}',
                    f"the targets are {', '.join(known)}",
                )
            elif isinstance(text, str) and (match := re.fullmatch(r"v?(\d{1,4})\.(\d{1,4})(\.\d+)?", text)):
                versions[key] = (int(match[1]), int(match[2]))
            else:
                self.fault(
                    "settings/value", f"targets.{key} is not a version: {text!r}", f'write {key} = "2.42", in quotes'
                )
        return Targets(**versions)

    def fault(self, check: str, message: str, fix: str = "") -> None:
        self.findings.append(Finding(check, f"[tool.watchkeeper] {message}", Place(str(self.path)), fix=fix))


def _is_zone(name: str) -> bool:
    """Return whether it is empty, or a zone of the database of time zones; of the form of one where there is none."""
    import zoneinfo

    known = zoneinfo.available_timezones()
    return not name or (
        name in known if known else re.fullmatch(r"[A-Za-z][\w+-]*(/[A-Za-z][\w+-]*)*", name) is not None
    )

"""Help texts: what they say of where files go is what is written."""

import re

import click

from watchkeeper.cli.app import app


def test_wherever_one_kind_of_output_is_named_all_are():
    with click.Context(app) as context:
        commands = {"": app} | {name: app.get_command(context, name) for name in app.list_commands(context)}
        helps = {name: re.sub(r"\s+", " ", command.get_help(context)) for name, command in commands.items()}
    assert "rules/" in helps["generate"]
    for name, text in helps.items():
        for found in re.finditer(r"rules/[^.;]{0,40}", text):
            if "dashboards/" in found[0]:
                assert "runbooks/" in found[0], f"{name}: {found[0]}"

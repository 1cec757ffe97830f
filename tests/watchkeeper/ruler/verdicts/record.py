"""Record what promtool says of each `*.test` here, into verdicts.json: run by hand when cases are added.

    python tests/watchkeeper/ruler/verdicts/record.py /path/to/promtool

The files do not end in .yml, for many of them fail, and `watchkeeper test` looks for such below the project. A case
that is recorded already is asked again. Failures are [kind, name, seconds, message], the message empty where promtool
shows a comparison instead; a file that can't be loaded has none, and "loads" is false.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ALERT = re.compile(r"    alertname: (?P<name>.*), time: (?P<time>\w+), $")
EXPR = re.compile(r'    expr: (?P<name>".*"), time: (?P<time>\w+),(?: err: (?P<error>.*))?$')
RULE = re.compile(r"    rule: (?P<name>.*), time: (?P<time>[\w.]+), err: (?P<error>.*)$")
UNITS = {"h": 3600, "m": 60, "s": 1}


def seconds(text: str) -> int:
    return sum(int(n) * UNITS[unit] for n, unit in re.findall(r"(\d+)([hms])", text))


def verdict(promtool: str, path: Path) -> dict[str, object]:
    run = subprocess.run(
        [promtool, "test", "rules", path.name], cwd=path.parent, capture_output=True, text=True, check=False
    )
    text = run.stdout + run.stderr
    assert run.returncode in (0, 1), text
    failures = []
    for line in text.splitlines():
        for kind, pattern in (("alert", ALERT), ("expr", EXPR), ("rule", RULE)):
            if match := pattern.match(line):
                found = match.groupdict()
                name = json.loads(found["name"]) if kind == "expr" else found["name"]
                failures.append([kind, name, seconds(found["time"]), found.get("error") or ""])
    assert run.returncode or not failures, text
    return {"ok": run.returncode == 0, "loads": run.returncode == 0 or bool(failures), "failures": failures}


def main() -> None:
    promtool = sys.argv[1]
    version = subprocess.run([promtool, "--version"], capture_output=True, text=True, check=True)
    found = {path.name: verdict(promtool, path) for path in sorted(HERE.glob("*.test"))}
    first = (version.stdout + version.stderr).splitlines()[0].partition(" (")[0]
    # One case a line, so that a change shows which.
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    (HERE / "verdicts.json").write_text(f'{{"by": {json.dumps(first)}, "cases": {{\n' + ",\n".join(lines) + "\n}}\n")
    sys.stdout.write(f"{len(found)} cases, {sum(bool(value['ok']) for value in found.values())} of them pass\n")


if __name__ == "__main__":
    main()

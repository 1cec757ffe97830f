"""The audit log."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from watchkeeper.sync.audit import Audit
from watchkeeper.sync.objects import Refused


def test_a_line_for_each_write():
    lines: list[str] = []
    audit = Audit(lines.append, lambda: 1_764_000_000.25, "https://grafana.example.org")
    audit.record(
        action="changed", kind="dashboard", uid="gpu", title='A "title"\n', before="1-a", after="1-b", outcome="done"
    )
    [line] = lines
    assert line.endswith("}\n")
    assert "\n" not in line[:-1]
    assert json.loads(line) == {
        "time": "2025-11-24T16:00:00.250+00:00",
        "server": "https://grafana.example.org",
        "action": "changed",
        "kind": "dashboard",
        "uid": "gpu",
        "title": 'A "title"\n',
        "before": "1-a",
        "after": "1-b",
        "outcome": "done",
    }


def test_threads_do_not_mix_their_lines(tmp_path):
    with (tmp_path / "audit").open("w", buffering=1) as file:
        audit = Audit(file.write, lambda: 0.0)
        with ThreadPoolExecutor(8) as pool:
            for number in range(200):
                pool.submit(
                    audit.record,
                    action="created",
                    kind="k",
                    uid=str(number),
                    title="t",
                    before="",
                    after="1-a",
                    outcome="done",
                )
    found = [json.loads(line)["uid"] for line in (tmp_path / "audit").read_text().splitlines()]
    assert sorted(found, key=int) == [str(number) for number in range(200)]


def test_a_log_that_is_full():
    with Path("/dev/full").open("wb", buffering=0) as file:
        audit = Audit(lambda line: file.write(line.encode()), lambda: 0.0)
        about = {"kind": "dashboard", "uid": "gpu", "title": "GPU", "before": "", "after": "1-a", "outcome": "done"}
        with pytest.raises(Refused, match="the audit log can't be written: No space left on device"):
            audit.record(action="created", **about)

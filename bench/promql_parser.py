"""Parse the expressions of a large rule file: ours beside promql-parser (Rust), in turn in one process.

    .venv/bin/python bench/promql_parser.py [--quick]

One JSON object a line; the first names the versions. Ours also gives positions and explains its errors, which the peer
does not, so the bar is on our own time and the ratio is told as it is. Nothing is cached from one parse to the next.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from watchkeeper.promql import parse

# This file has the name of its peer, which would otherwise import itself.
sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]
import promql_parser  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

BAR = 0.4  # seconds for 10,000 expressions
RULES = 10_000
TOOL = Path(__file__).resolve().parents[2] / "shared" / "tools" / "bench_rules.py"


def expressions(rules: int, *, distinct: bool) -> list[str]:
    """The expressions of the rule file that every tool is measured with."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            str(TOOL),
            folder,
            "--rules",
            str(rules),
            "--hosts",
            "1",
            "--gpus",
            "1",
            "--hours",
            "1",
        ]
        subprocess.run(command + ["--distinct"] * distinct, check=True)
        with (Path(folder) / "rules.yml").open(encoding="utf-8") as file:
            loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
            document = yaml.load(file, Loader=loader)
    return [rule["expr"] for group in document["groups"] for rule in group["rules"]]


def seconds(function: Callable[[str], object], texts: list[str]) -> float:
    gc.collect()
    start = time.perf_counter()
    for text in texts:
        function(text)
    return time.perf_counter() - start


def measure(case: str, texts: list[str], rounds: int) -> bool:
    for text in texts[:100]:
        parse(text)
        promql_parser.parse(text)
    ours, peer = [], []
    for _ in range(rounds):
        ours.append(seconds(parse, texts))
        peer.append(seconds(promql_parser.parse, texts))
    mine, theirs = statistics.median(ours), statistics.median(peer)
    ok = mine <= BAR * len(texts) / RULES
    line = {
        "case": case,
        "ours": round(mine, 4),
        "peer": round(theirs, 4),
        "unit": "s",
        "ratio": round(mine / theirs, 2),
        "bar": round(BAR * len(texts) / RULES, 4),
        "ok": ok,
    }
    print(json.dumps(line), flush=True)
    return ok


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--quick", action="store_true", help="only check that it runs: few rules, one round")
    quick = arguments.parse_args().quick
    versions = {
        "versions": {"promql-parser": version("promql-parser"), "python": platform.python_version()},
        "cores": os.cpu_count(),
    }
    print(json.dumps(versions), flush=True)
    if not TOOL.is_file():
        print(json.dumps({"missing": "bench_rules.py, which writes the rule file, is not beside the repository"}))
        return 0 if quick else 1
    rules, rounds = (200, 1) if quick else (RULES, 7)
    fine = [
        measure(f"parse {rules} expressions, {name}", expressions(rules, distinct=distinct), rounds)
        for name, distinct in (("distinct", True), ("alike", False))
    ]
    return 0 if quick or all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())

"""A daemon of ours as a real process, with a token of GitHub's stand-in."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

WATCHKEEPER = Path(sys.executable).with_name("watchkeeper")
VARIABLE = "WATCHKEEPER_GITHUB_TOKEN"


def environment(**more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("WATCHKEEPER", "STATE_DIRECTORY"))}
    return {**kept, **more}


@contextlib.contextmanager
def daemon(
    verb: str, api: str, repository: str, *arguments: object, **variables: str
) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """Run it until the block ends; give the process, its URL, and a list that fills with the lines that it writes."""
    command = [str(WATCHKEEPER), verb, "--listen", "127.0.0.1:0", "--api-url", api, "--repo", repository]
    lines: list[str] = []
    serves = threading.Event()
    with subprocess.Popen(
        [*command, *map(str, arguments)], stderr=subprocess.PIPE, text=True, env=environment(**variables)
    ) as child:

        def read() -> None:
            for line in child.stderr or ():
                lines.append(line)
                if " serving " in line:
                    serves.set()

        reader = threading.Thread(target=read)
        reader.start()
        try:
            assert serves.wait(60), lines
            (url,) = re.findall(r"serving (http\S+)/metrics$", "".join(lines), re.MULTILINE)
            yield child, url, lines
        finally:
            child.kill()
            reader.join(60)

"""Another process that writes to the spool, told line by line what to do: a process doesn't see its own locks."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys

IDENTITY = {"workload": "train", "process": "3", "rank": "0"}

TOLD = """
import os, sys, threading
from watchkeeper_fleet.spool import Writer
for line in sys.stdin:
    print(repr(eval(line)), flush=True)
"""


class Workload:
    """A child that evaluates expressions; `make` creates its file, which is `w` from then on."""

    def __init__(self, *before: str) -> None:
        self._child = subprocess.Popen(
            [*before, sys.executable, "-c", TOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._child.pid

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def tell(self, expression: str) -> object:
        self._child.stdin.write(expression + "\n")
        self._child.stdin.flush()
        return ast.literal_eval(self._child.stdout.readline())

    def make(self, folder: object, identity: dict[str, str] = IDENTITY, clock: str = "__import__('time').time") -> str:
        """Have a file made with two fields, and their values published; return its path."""
        self.tell(f"[w := Writer({os.fspath(folder)!r}, {identity!r}, clock={clock})] and None")
        self.tell("[w.field('torch_cuda_memory_reserved_bytes', gpu='0'), w.field('torch_process_ready')]")
        assert self.tell("w.publish([5e9, 1])")
        return self.tell("w.path")

    def kill(self) -> None:
        if self._child.returncode is None:
            self._child.send_signal(signal.SIGKILL)
            self._child.wait()
            self._child.stdin.close()
            self._child.stdout.close()

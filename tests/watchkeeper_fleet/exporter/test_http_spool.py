"""Real writers, killed: what `watchkeeper spool last` says of them, and the daemon's answer over HTTP."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

WATCHKEEPER = Path(sys.executable).with_name("watchkeeper")


def last(folder, *arguments, status=0):
    done = subprocess.run(
        [WATCHKEEPER, "spool", "last", "--spool", folder, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_the_dead_are_told_of(spool, writers):
    writers.start("3", texts={"torch_version": "2.9.1"}, rank="11", host="gpu-7")
    assert last(spool).stdout == "nobody has died here; 1 live: --all shows them\n"
    assert "vlm/3 rank 11 pid " in last(spool, "--all").stdout
    writers.kill()
    text = last(spool).stdout
    assert re.match(r"vlm/3 rank 11 pid [0-9]*: was killed, or crashed\n  last heard 2", text)
    assert "\n  on host gpu-7\n  with torch 2.9.1\n" in text
    assert re.search(r"\n    torch_cuda_memory_reserved_bytes\{gpu=0\} +800\.0 MiB\n", text)
    assert re.search(r"\n    torch_cuda_ooms_total\{gpu=0\} +1\n", text)


def test_times_are_told_as_times(spool, writers):
    writers.start("0", fields=[(("torch_progress_timestamp_seconds", {}), 1_790_000_000.0)])
    writers.kill()
    assert re.search(r"\n    torch_progress_timestamp_seconds  2026-09-2[0-9] [0-9:]{8} \S+\n", last(spool).stdout)


def test_json(spool, writers):
    writers.start("0")
    writers.kill()
    (found,) = map(json.loads, last(spool, "--format", "json").stdout.splitlines())
    assert (found["state"], found["mark"], found["identity"]["workload"]) == ("dead", "", "vlm")
    assert {"name": "torch_process_ready", "labels": {}, "value": 1.0} in found["values"]


def test_the_latest_comes_first(spool, start):
    for name in ("0", "1"):
        writers = start()
        writers.start(name)
        writers.kill()
        time.sleep(0.01)
    heads = [line for line in last(spool).stdout.splitlines() if not line.startswith(" ")]
    assert [head.split()[0] for head in heads] == ["vlm/1", "vlm/0"]


def test_what_is_no_file_of_an_agent_is_counted(spool):
    (spool / "x.spool").symlink_to("/etc/passwd")
    done = last(spool)
    assert done.stdout == "nobody has died here\n"
    assert re.fullmatch(r"not read: 1 \((name|symlink)\)\n", done.stderr)


def test_no_folder(tmp_path):
    done = last(tmp_path / "none", status=1)
    remedy = "--spool or WATCHKEEPER_SPOOL names another folder"
    assert done.stderr == f"error: {tmp_path / 'none'}: No such file or directory; {remedy}\n"


def test_the_folder_that_agents_are_told(spool, writers, monkeypatch):
    writers.start("0")
    monkeypatch.setenv("WATCHKEEPER_SPOOL", str(spool))
    done = subprocess.run([WATCHKEEPER, "spool", "last", "--all"], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("vlm/0 "), done.stderr


def test_files_of_others(spool, writers):
    writers.start("0")
    writers.kill()
    (file,) = spool.glob("*.spool")
    file.chmod(0)
    command = [WATCHKEEPER, "spool", "last", "--spool", spool]
    if os.geteuid() == 0:  # who may read everything
        command = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "nobody has died here, as far as files can be read\n"
    assert done.stderr == "not read: 1 (unreadable); ask as root, or as a member of the folder's group\n"


def test_an_empty_folder(spool):
    assert last(spool).stdout == "nobody has died here\n"
    assert last(spool, "--all").stdout == "no process has written here\n"


def test_a_workload_cannot_steer_the_terminal(spool, writers):
    writers.start("0", texts={"torch_version": "2\x1b[2J"})
    writers.kill()
    assert "\x1b" not in last(spool).stdout


def test_the_daemon_serves_the_living_and_then_the_last_words(spool, writers):
    command = [WATCHKEEPER, "exporter", "--listen", "127.0.0.1:0", "--spool", spool]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        try:
            url = child.stderr.readline().split()[-1]

            def scrape():
                with urllib.request.urlopen(url, timeout=20) as response:
                    return response.read().decode()

            writers.start("0")
            assert 'torch_process_ready{workload="vlm",process="0",rank="0"} 1.0\n' in scrape()
            writers.kill()
            deadline = time.monotonic() + 20
            while "torch_process_ready{" in (text := scrape()):  # that of before is good for some milliseconds
                assert time.monotonic() < deadline
            assert 'torch_process_last_memory_reserved_bytes{workload="vlm",process="0",rank="0",gpu="0"}' in text
            assert 'torch_cuda_node_ooms_total{gpu="0"} 1.0\n' in text
        finally:
            child.terminate()
            assert child.wait(20) == 0

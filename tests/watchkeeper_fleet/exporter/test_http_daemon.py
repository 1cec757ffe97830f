"""`watchkeeper exporter` as a real process: started, asked, told to read again, and stopped."""

import contextlib
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import bcrypt
import pytest

from watchkeeper_fleet.exporter.daemon import _Told
from watchkeeper_fleet.exporter.gpus import Snapshot

WATCHKEEPER = Path(sys.executable).with_name("watchkeeper")


@contextlib.contextmanager
def daemon(*arguments, environment=None, prefix=(), said=None):
    """Start the daemon; give the process and its URL. `said` takes what it says before it serves."""
    command = [*prefix, WATCHKEEPER, "exporter", "--listen", "127.0.0.1:0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as child:
        try:
            assert child.stderr is not None
            line = child.stderr.readline()
            while said is not None and "serving" not in line and line:
                said.append(line)
                line = child.stderr.readline()
            found = re.search(r"serving (\S+)/metrics$", line)
            assert found, line + child.stderr.read()
            yield child, found[1]
        finally:
            if child.poll() is None:
                child.kill()


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as response:
        return response.read().decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_demo_from_start_to_stop(number):
    with daemon("--demo") as (child, url):
        text = get(f"{url}/metrics")
        assert "\ngpu_devices_visible 8\n" in text
        assert get(f"{url}/-/ready") == "ready\n"
        child.send_signal(number)
        assert child.wait(20) == 0
        assert child.stderr.read() == f"INFO: stopping: {number.name}\n"


def test_a_host_without_anything(tmp_path):
    said: list[str] = []
    here = ("--spool", tmp_path / "none", "--devices", "8", "--state", tmp_path / "state.json")
    with daemon(*here, said=said) as (child, url):
        assert said == [
            f"WARNING: no process is seen: the spool {tmp_path / 'none'} can't be read: No such file or directory\n"
        ]
        text = get(f"{url}/metrics")
        assert "\nwatchkeeper_spool_up 0.0\n" in text
        assert "\nwatchkeeper_nvml_up 0.0\n" in text
        assert "\ngpu_devices_expected 8\n" in text
        assert "\nwatchkeeper_state_saved 1.0\n" in text
        child.terminate()
        assert child.wait(20) == 0
        assert child.stderr.readline().startswith("WARNING: no device is seen: NVML does not answer (no_")
    assert (tmp_path / "state.json").is_file()


def test_totals_that_cannot_be_kept(tmp_path):
    said: list[str] = []
    with daemon("--spool", tmp_path, "--state", tmp_path / "none/state.json", said=said) as (_, url):
        assert [line for line in said if "totals are not kept" in line] == said != []
        assert "\nwatchkeeper_state_saved 0.0\n" in get(f"{url}/metrics")


def test_the_spool_is_where_agents_are_told(tmp_path):
    said: list[str] = []
    told = {"WATCHKEEPER_SPOOL": str(tmp_path / "none")}
    with daemon(environment=told, said=said):
        assert f"the spool {tmp_path / 'none'} " in said[0]


def test_devices_that_come_and_go(caplog):
    caplog.set_level("INFO")
    reasons = iter(["no_driver", "no_driver", "", "timeout"])
    told = _Told(lambda: Snapshot(reason=next(reasons)))
    assert [told().reason for _ in range(4)] == ["no_driver", "no_driver", "", "timeout"]
    assert [record.message for record in caplog.records] == [
        "no device is seen: NVML does not answer (no_driver)",
        "NVML answers",
        "no device is seen: NVML does not answer (timeout)",
    ]


def test_state_goes_where_systemd_says(tmp_path):
    with daemon("--spool", tmp_path, environment={"STATE_DIRECTORY": str(tmp_path)}) as (_, url):
        get(f"{url}/metrics")
        assert (tmp_path / "state.json").is_file()


def test_reload_without_a_web_configuration():
    with daemon("--demo") as (child, url):
        child.send_signal(signal.SIGHUP)
        assert child.stderr.readline() == "INFO: there is no web configuration to read again\n"
        assert get(f"{url}/-/healthy") == "healthy\n"


def test_reload(tmp_path):
    web = tmp_path / "web.yml"
    web.write_text("")
    with daemon("--demo", "--web-config", web) as (child, url):
        assert get(f"{url}/-/healthy") == "healthy\n"
        secret = bcrypt.hashpw(b"sesame", bcrypt.gensalt(4)).decode()
        web.write_text(f"basic_auth_users: {{alice: {secret}}}\n")
        child.send_signal(signal.SIGHUP)
        assert child.stderr.readline() == "INFO: the web configuration was read again\n"
        with pytest.raises(urllib.error.HTTPError, match="401") as raised:
            get(f"{url}/-/healthy")
        raised.value.close()
        web.write_text("basic_auth_users: {alice: sesame}\n")
        child.send_signal(signal.SIGHUP)
        assert child.stderr.readline().startswith("ERROR: the web configuration stays as it was: ")
        child.terminate()
        assert child.wait(20) == 0


def test_systemd_is_told(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20)

        def heard(wanted: str) -> str:
            while True:
                text = manager.recv(4096).decode()
                if text != "WATCHDOG=1" or wanted == text:
                    return text

        environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "100000"}
        with daemon("--demo", environment=environment) as (child, url):
            assert heard("READY") == f"READY=1\nSTATUS={url}/metrics"
            assert heard("WATCHDOG=1") == "WATCHDOG=1"
            child.send_signal(signal.SIGHUP)
            assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=[0-9]+", heard("RELOADING"))
            assert heard("READY").startswith("READY=1\n")
            child.terminate()
            assert heard("STOPPING") == "STOPPING=1"
            assert child.wait(20) == 0


def test_it_stops_as_the_first_process_of_a_container():
    prefix = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
    if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode:
        pytest.skip("pid namespaces are not permitted here")
    with daemon("--demo", prefix=prefix) as (child, url):
        get(f"{url}/metrics")
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        subprocess.run(["kill", "-TERM", *children], check=True)
        assert child.wait(20) == 0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--listen", "nowhere"], 2, "nowhere is no HOST:PORT such as 127.0.0.1:29400"),
        (["--listen", "::1:29400"], 2, "write an IPv6 address in brackets: [::1]:29400"),
        (["--listen", "127.0.0.1:65536"], 2, "is no HOST:PORT"),
        (["--listen", "192.0.2.1:1234"], 1, "error: can't listen on 192.0.2.1:1234: Cannot assign requested address"),
        (["--owner", "nobody-at-all"], 2, "there is no user nobody-at-all here"),
        (["--web-config", "/nonexistent/web.yml"], 1, "error: /nonexistent/web.yml: can't be read: No such file"),
        (["--devices", "-1"], 2, "--devices"),
    ],
)
def test_what_is_wrong_is_told(arguments, status, message):
    done = subprocess.run(
        [WATCHKEEPER, "exporter", *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == status
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_address_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [WATCHKEEPER, "exporter", "--demo", "--listen", place], capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, f"error: can't listen on {place}: Address already in use\n")


def test_all_addresses_are_served():
    with daemon("--demo", "--listen", ":0") as (_, url):
        port = url.rpartition(":")[2]
        assert get(f"http://127.0.0.1:{port}/-/healthy") == "healthy\n"
        if socket.has_dualstack_ipv6():
            assert get(f"http://[::1]:{port}/-/healthy") == "healthy\n"

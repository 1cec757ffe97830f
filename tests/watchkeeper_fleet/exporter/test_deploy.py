"""What deploy/ holds, as far as a machine without a cluster can say: by systemd, promtool and a real Prometheus."""

import contextlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

import bcrypt
import pytest
import yaml

from watchkeeper_fleet.alerts import watchers
from watchkeeper_fleet.exporter.cli import PORT, exporter
from watchkeeper_fleet.exporter.options import SPOOL
from watchkeeper_fleet.exporter.webconfig import WebConfigError, load
from watchkeeper_fleet.issues import cli as issues_cli
from watchkeeper_fleet.trunk import cli as trunk_cli

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
WATCHKEEPER = Path(sys.executable).with_name("watchkeeper")
UNIT = DEPLOY / "systemd/watchkeeper-exporter.service"
UNITS = {
    "exporter": exporter,
    "trunk-exporter": trunk_cli.trunk_exporter,
    "issue-receiver": issues_cli.issue_receiver,
}


def tool(name: str, why: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(why)
    return found


def promtool() -> str:
    return tool("promtool", "Prometheus is not here: apt-get install prometheus")


def options(arguments: list[str]) -> dict[str, object]:
    """Parse the arguments of `watchkeeper exporter` as it does."""
    return exporter.make_context("exporter", list(arguments)).params


def documents(name: str) -> dict[str, dict]:
    return {one["kind"]: one for one in yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text())}


# systemd


@pytest.fixture(params=UNITS)
def unit(request, tmp_path):
    """A unit, with the environment that there is here."""
    there = UNIT.with_name(f"watchkeeper-{request.param}.service")
    text = there.read_text()
    assert f"/opt/watchkeeper/bin/watchkeeper {request.param} $ARGS\n" in text
    here = tmp_path / there.name
    here.write_text(text.replace("/opt/watchkeeper/bin/watchkeeper", str(WATCHKEEPER)))
    return here


def analyze(*arguments) -> subprocess.CompletedProcess[str]:
    binary = tool("systemd-analyze", "systemd-analyze is not here")
    return subprocess.run([binary, *arguments], capture_output=True, text=True, check=False)


def test_systemd_takes_the_unit(unit):
    done = analyze("verify", unit)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_unit_is_hardened(unit):
    done = analyze("security", "--offline=yes", "--no-pager", "--threshold=20", unit)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr


def test_the_arguments_in_the_unit_are_ours():
    assert arguments_of("exporter")["listen"] == f":{PORT}"
    assert arguments_of("trunk-exporter")["jobs"] == ("pull", "trunk")
    assert arguments_of("issue-receiver")["repo"] == "OWNER/NAME"


def arguments_of(daemon: str) -> dict[str, object]:
    text = UNIT.with_name(f"watchkeeper-{daemon}.service").read_text()
    (line,) = re.findall(r"^# ARGS=(.*)$", text, re.MULTILINE)
    return UNITS[daemon].make_context(daemon, shlex.split(line)[0].split()).params


def test_the_spool_is_where_the_daemon_looks():
    (line,) = re.findall(r"^d .*$", (DEPLOY / "systemd/watchkeeper.tmpfiles.conf").read_text(), re.MULTILINE)
    assert line.split() == ["d", SPOOL, "3770", "watchkeeper", "watchkeeper", "-"]
    unit = UNIT.read_text()
    assert f"\nReadWritePaths=-{SPOOL}\n" in unit
    # In either, a folder of its own would hide the spool.
    assert SPOOL.partition("/")[2].split("/")[0] != "tmp"
    assert "RuntimeDirectory=" not in unit


def test_systemd_makes_user_and_folder(tmp_path):
    sysusers = tool("systemd-sysusers", "systemd-analyze is not here")
    tmpfiles = tool("systemd-tmpfiles", "systemd-analyze is not here")
    etc = tmp_path / "etc"
    etc.mkdir()
    if os.geteuid() == 0:
        subprocess.run(
            [sysusers, f"--root={tmp_path}", DEPLOY / "systemd/watchkeeper.sysusers.conf"],
            check=True,
            capture_output=True,
        )
        assert "\nwatchkeeper:" in "\n" + (etc / "passwd").read_text()
        subprocess.run(
            [tmpfiles, f"--root={tmp_path}", "--create", DEPLOY / "systemd/watchkeeper.tmpfiles.conf"],
            check=True,
            capture_output=True,
        )
        assert (tmp_path / SPOOL[1:]).stat().st_mode & 0o7777 == 0o3770
    else:
        done = subprocess.run(
            [sysusers, "--dry-run", DEPLOY / "systemd/watchkeeper.sysusers.conf"], check=True, capture_output=True
        )
        assert b"watchkeeper" in done.stdout + done.stderr


# Kubernetes


def test_the_daemon_set():
    found = documents("exporter.yaml")
    pod = found["DaemonSet"]["spec"]["template"]["spec"]
    labels = found["DaemonSet"]["spec"]["template"]["metadata"]["labels"]
    assert found["DaemonSet"]["spec"]["selector"]["matchLabels"] == labels
    assert {one["metadata"].get("namespace", "watchkeeper") for one in found.values()} == {"watchkeeper"}
    assert pod["hostPID"] is True  # by which a lock's holder has a name
    (container,) = pod["containers"]
    given = options(container["args"])
    assert (given["listen"], given["spool"]) == (f":{PORT}", SPOOL)
    assert container["ports"] == [{"name": "metrics", "containerPort": PORT}]
    assert {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")} == {
        "/-/healthy",
        "/-/ready",
    }
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert mounted["spool"] == SPOOL
    assert str(given["state"]).startswith(mounted["state"] + "/")
    paths = {one["name"]: one["hostPath"]["path"] for one in pod["volumes"]}
    assert paths == mounted  # the same on the host and inside: fewer names to mix up


def test_no_container_can_do_more_than_it_must():
    pod = documents("exporter.yaml")["DaemonSet"]["spec"]["template"]["spec"]
    (container,), (folders,) = pod["containers"], pod["initContainers"]
    for one in (container, folders):
        rights = one["securityContext"]
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["readOnlyRootFilesystem"] is True
        assert rights["capabilities"]["drop"] == ["ALL"]
        assert one["resources"]["limits"] == {"memory": "256Mi"}  # and no limit of CPU, which would throttle scrapes
    assert container["securityContext"]["runAsNonRoot"] is True
    assert "add" not in container["securityContext"]["capabilities"]
    user = container["securityContext"]["runAsUser"]
    assert f"chown {user}:{user} " in folders["args"][0]
    assert f"USER {user}:{user}\n" in (DEPLOY / "container/Containerfile").read_text()


def test_the_folders_are_made(tmp_path):
    """The first container's script, with this user for the daemon's, in a folder that a pod has used already."""
    pod = documents("exporter.yaml")["DaemonSet"]["spec"]["template"]["spec"]
    (folders,) = pod["initContainers"]
    user = pod["containers"][0]["securityContext"]["runAsUser"]
    script = folders["args"][0].replace("/run/", f"{tmp_path}/run/").replace("/var/lib/", f"{tmp_path}/lib/")
    script = script.replace(f"{user}:{user}", f"{os.geteuid()}:{os.getegid()}").replace(str(user), str(os.getegid()))
    spool, state = tmp_path / "run/watchkeeper", tmp_path / "lib/watchkeeper"
    state.mkdir(parents=True)
    (spool / "theirs").mkdir(parents=True)
    (spool / "x.spool").symlink_to("/etc/passwd")
    for _ in range(2):  # and at the next start
        subprocess.run([*folders["command"], script], check=True, capture_output=True)
        assert spool.stat().st_mode & 0o7777 == 0o3777
        assert state.stat().st_mode & 0o7777 == 0o750


@pytest.mark.parametrize("version", ["1.27", "1.37"])
def test_kubernetes_takes_the_manifests(version):
    if importlib.util.find_spec("kubernetes_validate") is None:
        pytest.skip("kubernetes-validate is not here: pip install kubernetes-validate")
    import kubernetes_validate

    for document in documents("exporter.yaml").values():
        kubernetes_validate.validate(document, version, strict=True)


def test_the_pod_monitor_finds_the_pods():
    monitor = documents("podmonitor.yaml")["PodMonitor"]
    daemon = documents("exporter.yaml")["DaemonSet"]
    labels = daemon["spec"]["template"]["metadata"]["labels"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert monitor["metadata"]["namespace"] == daemon["metadata"]["namespace"]
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] == "metrics"
    targets = {one.get("targetLabel"): one for one in endpoint["relabelings"]}
    assert {"job", "node", "cluster", "instance"} <= targets.keys()
    assert targets["job"]["replacement"] == job()


def job() -> str:
    """Return the job that the alerts look for."""
    (found,) = {
        match[1]
        for alert in vars(watchers).values()
        for match in re.finditer(r'absent\(up\{job="([^"]+)"\}\)', getattr(alert, "expr", ""))
    }
    return found


# Prometheus


def scrape_config(name: str) -> dict:
    """Return the configuration that scrapes the hosts, the first one."""
    return yaml.safe_load((DEPLOY / "prometheus" / name).read_text())["scrape_configs"][0]


def test_the_other_daemons_are_scraped_where_they_listen():
    others = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["scrape_configs"][1:]
    found = {one["job_name"]: one["static_configs"][0]["targets"][0] for one in others}
    assert found == {
        "watchkeeper-trunk": f"127.0.0.1:{trunk_cli.PORT}",
        "watchkeeper-issues": f"127.0.0.1:{issues_cli.PORT}",
    }


@pytest.mark.parametrize("name", ["prometheus.yml", "kubernetes.yml"])
def test_scrapes_set_the_labels_that_alerts_join_by(name):
    config = scrape_config(name)
    assert config["job_name"] == job()
    labels = {one.get("target_label") for one in config["relabel_configs"]}
    assert labels >= {"node", "instance"}
    hosts = yaml.safe_load((DEPLOY / "prometheus/hosts.yml").read_text())
    assert "cluster" in labels or all("cluster" in one["labels"] for one in hosts)
    assert all(target.endswith(f":{PORT}") for one in hosts for target in one["targets"])


def test_promtool_takes_the_configuration():
    done = subprocess.run(
        [promtool(), "check", "config", DEPLOY / "prometheus/prometheus.yml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_promtool_takes_the_lines_for_a_secured_exporter(tmp_path):
    text = (DEPLOY / "prometheus/prometheus.yml").read_text().replace("../..", str(ROOT))
    secured = re.sub(r"# (scheme|tls_config|basic_auth):", r"\1:", text)
    assert len(secured) == len(text) - 3 * len("# ")
    for name in ("ca.crt", "prometheus.crt", "prometheus.key", "password", "hosts.yml"):
        (tmp_path / name).write_text("")
    (tmp_path / "prometheus.yml").write_text(secured)
    done = subprocess.run(
        [promtool(), "check", "config", tmp_path / "prometheus.yml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_promtool_takes_the_configuration_of_pods():
    binary = Path(os.environ.get("WATCHKEEPER_PROMETHEUS3") or "prometheus3").with_name("promtool")
    if not os.access(binary, os.X_OK):
        pytest.skip("Prometheus 3 is not here: name one in WATCHKEEPER_PROMETHEUS3")  # Debian's knows no Kubernetes
    done = subprocess.run(
        [binary, "check", "config", DEPLOY / "prometheus/kubernetes.yml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


@contextlib.contextmanager
def process(*command, ready: str, **options):
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options) as child:
        try:
            said = ""
            while ready not in said:
                line = child.stderr.readline()
                assert line, said
                said += line
            yield said
        finally:
            child.terminate()
            child.stderr.read()
            child.wait(20)


def query(port: int, expression: str) -> list[dict]:
    url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(expression)}"
    with urllib.request.urlopen(url, timeout=20) as response:
        return json.load(response)["data"]["result"]


def test_a_real_prometheus_scrapes_the_demonstration(tmp_path):
    server = tool("prometheus", "Prometheus is not here: apt-get install prometheus")
    port = free_port()
    with process(WATCHKEEPER, "exporter", "--demo", "--listen", "127.0.0.1:0", ready="serving") as said:
        place = re.search(r"http://(\S+)/metrics", said)[1]
        text = (DEPLOY / "prometheus/prometheus.yml").read_text()
        assert "15s" in text
        (tmp_path / "prometheus.yml").write_text(
            text.replace("15s", "1s").replace("10s", "1s").replace("../..", str(ROOT))
        )
        hosts = (DEPLOY / "prometheus/hosts.yml").read_text()
        (tmp_path / "hosts.yml").write_text(re.sub(r"gpu-node-0[12]:29400", place, hosts, count=1))
        with process(
            server,
            f"--config.file={tmp_path}/prometheus.yml",
            f"--storage.tsdb.path={tmp_path}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            ready="Server is ready",
        ):
            deadline = time.monotonic() + 60
            wanted = 'up{node="127.0.0.1"} == 1 and count_over_time(up{node="127.0.0.1"}[1m]) >= 3'
            while not (found := query(port, wanted)) and time.monotonic() < deadline:
                time.sleep(0.2)
            (up,) = found
            labels = {"job": "watchkeeper", "node": "127.0.0.1", "instance": "127.0.0.1", "cluster": "gpu-1"}
            assert up["metric"] == {**labels, **({"__name__": "up"} if "__name__" in up["metric"] else {})}
            (memory,) = query(port, 'torch_cuda_memory_reserved_bytes{process="7"}')
            assert memory["metric"].items() >= {**labels, "workload": "serving", "gpu": "7"}.items()
            assert len(query(port, 'gpu_xid_errors_total{xid="79"} == 0')) == 8


# The image


def test_the_image_is_built_from_what_there_is():
    text = (DEPLOY / "container/Containerfile").read_text()
    for sources in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists(), source
    (command,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    assert options(json.loads(command))["listen"] == f":{PORT}"
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)
    assert json.loads(entry)[1:] == ["exporter"]
    assert f"EXPOSE {PORT}\n" in text
    assert len(set(re.findall(r"^FROM (\S+)", text, re.MULTILINE))) == 1
    # Where `kubectl exec` and the manifest look for programs.
    assert f"PATH={Path(json.loads(entry)[0]).parent}:$PATH\n" in text


def test_what_is_copied_into_the_image_makes_the_wheel(tmp_path):
    text = (DEPLOY / "container/Containerfile").read_text()
    for sources, target in re.findall(r"^COPY (?!--from)(.*) (\S+)$", text, re.MULTILINE):
        for source in sources.split():
            if (ROOT / source).is_dir():
                leave = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / source, tmp_path / target, ignore=leave, dirs_exist_ok=True)
            else:
                shutil.copy(ROOT / source, tmp_path / target)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "out"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = (tmp_path / "out").iterdir()
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"watchkeeper_agent.pth", "watchkeeper_fleet/exporter/cli.py", "watchkeeper/cli/__init__.py"} <= names


# Documentation


def test_the_page_has_all_options():
    page = (ROOT / "docs/exporter-running.md").read_text()
    assert "pip install 'watchkeeper[" not in page  # it is on no index
    told = set(re.findall(r"^\| `(--[a-z-]+)", page, re.MULTILINE))
    assert told == {option for one in exporter.params for option in one.opts}


def test_the_web_configuration_on_the_page_is_right(tmp_path):
    page = (ROOT / "docs/exporter-running.md").read_text()
    (text,) = (one for one in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "tls_server_config" in one)
    (tmp_path / "web.yml").write_text(text)
    # All but the certificates, which are not here.
    with pytest.raises(WebConfigError, match=r"cert_file: .*exporter\.crt can't be read: No such file"):
        load(tmp_path / "web.yml")
    (tmp_path / "web.yml").write_text(text[text.index("basic_auth_users") :])
    config = load(tmp_path / "web.yml")
    assert (config.interval, config.burst) == (0.1, 50)
    assert config.users.keys() == {"prometheus"}


def test_the_password_on_the_page_is_the_one_it_names():
    page = (ROOT / "docs/exporter-running.md").read_text()
    ((secret, word),) = re.findall(r'prometheus: (\$2\S+) +# of "(\w+)"', page)
    assert bcrypt.checkpw(word.encode(), secret.encode())

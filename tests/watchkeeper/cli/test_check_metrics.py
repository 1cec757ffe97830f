"""`watchkeeper check --metrics`: with a contract, names and labels are held against what is published."""

import contextlib
import http.server
import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.request

import pytest

SCRAPE = """\
# TYPE gpu_memory_free_bytes gauge
gpu_memory_free_bytes{gpu="0"} 1
gpu_memory_free_bytes{gpu="1"} 1
# TYPE gpu_errors_total counter
gpu_errors_total{gpu="0",code="1"} 1
# TYPE latency_seconds histogram
latency_seconds_bucket{le="+Inf",path="/"} 1
latency_seconds_sum{path="/"} 1
latency_seconds_count{path="/"} 1
"""


def rules(*expressions, record=""):
    text = "groups:\n- name: g\n  rules:\n"
    for number, expression in enumerate(expressions):
        text += f"  - record: {record or f'job:a{number}:sum'}\n    expr: {json.dumps(expression)}\n"
    return text


def found(done):
    """Return place and id of each finding that is no note."""
    return [
        match.groups()
        for match in re.finditer(r"^\S+?:(\d+):\d+: (?:error|warning)\[(\S+)\]", done.stdout, re.MULTILINE)
    ]


@contextlib.contextmanager
def serving(answers):
    """Serve texts by path on loopback: a real server."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = answers.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write((body or "not here").encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def scrape(folder):
    (folder.path / "scrape.prom").write_text(SCRAPE)
    return folder


def test_unknown_names_are_found(scrape):
    scrape.write(a=rules("sum(gpu_memory_fre_bytes)"))
    assert scrape.check("a.yml").returncode == 0
    done = scrape.check("a.yml", "--metrics", "scrape.prom")
    assert found(done) == [("5", "promql/metric")]
    assert 'did you mean "gpu_memory_free_bytes"?' in done.stdout


def test_what_prometheus_and_the_rules_make_is_known(scrape):
    scrape.write(
        a=rules('ALERTS{alertstate="firing"}', "ALERTS_FOR_STATE", "up == 0", "scrape_duration_seconds", "job:b:sum"),
        b=rules("sum(gpu_memory_free_bytes)", record="job:b:sum"),
    )
    assert "promql/metric" not in scrape.check(".", "--metrics", "scrape.prom").stdout


@pytest.mark.parametrize(
    ("expression", "check"),
    [
        ("rate(gpu_memory_free_bytes[5m])", "promql/counter"),
        ("histogram_quantile(0.9, sum by (path) (rate(latency_seconds_bucket[5m])))", "promql/histogram"),
        ("histogram_quantile(0.9, rate(gpu_errors_total[5m]))", "promql/histogram"),
        ("latency_seconds", "promql/metric"),
        ("rate(gpu_errors_total[5m])", None),
        ("histogram_quantile(0.9, sum by (path, le) (rate(latency_seconds_bucket[5m])))", None),
        ("rate(latency_seconds_sum[5m]) / rate(latency_seconds_count[5m])", None),
    ],
)
def test_types(scrape, expression, check):
    scrape.write(a=rules(expression))
    checks = [check for _, check in found(scrape.check("a.yml", "--metrics", "scrape.prom"))]
    assert checks == [check] if check else checks == []


def test_several_add_up(scrape):
    scrape.write(a=rules("sum(gpu_errors_total) + sum(other_total)"))
    (scrape.path / "b.prom").write_text('# TYPE other_total counter\nother_total 1\n{"http.requests"} 1\n')
    one = scrape.check("a.yml", "--metrics", "scrape.prom")
    assert ("5", "promql/metric") in found(one)
    both = scrape.check("a.yml", "--metrics", "scrape.prom", "--metrics", "b.prom")
    assert "promql/metric" not in both.stdout
    scrape.write(a=rules('{"http.requests"} > 1', '{"http.request"} > 1'))
    both = scrape.check("a.yml", "--metrics", "scrape.prom", "--metrics", "b.prom")
    assert ("7", "promql/metric") in found(both)
    assert ("5", "promql/metric") not in found(both)


@pytest.mark.parametrize(
    ("content", "first"),
    [
        ("", "bad.prom: error[metrics/scrape] no sample is in it: were it believed, no metric would exist"),
        ("# TYPE a counter\n", "bad.prom: error[metrics/scrape] no sample is in it: were it believed"),
        ("a 1\n<html>\n", "bad.prom:2:1: error[metrics/scrape] no sample of a scrape, such as "),
        ("\xff", "bad.prom:1:1: error[metrics/scrape] byte 0xff is not UTF-8"),
        (None, "nosuch.prom: error[metrics/scrape] can't be read: No such file or directory"),
    ],
)
def test_files_that_are_no_scrape(scrape, content, first):
    scrape.write(a=rules("sum(up)"))
    if content is not None:
        (scrape.path / "bad.prom").write_text(content, encoding="latin-1")
    done = scrape.check("a.yml", "--metrics", "bad.prom" if content is not None else "nosuch.prom")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(first)
    assert done.stderr.endswith("1 error\n")


def test_the_address_of_a_scrape(scrape):
    scrape.write(a=rules("sum(gpu_memory_fre_bytes)"))
    with serving({"/metrics": SCRAPE, "/actuator/prometheus": SCRAPE, "/": "<html>"}) as url:
        for path in ("/metrics", "/actuator/prometheus"):
            assert found(scrape.check("a.yml", "--metrics", url + path)) == [("5", "promql/metric")]
        for path, said in (
            ("/", "these are no metrics: no sample of a scrape"),
            ("/nosuch/metrics", "can't be asked: HTTP Error 404: Not Found"),
        ):
            done = scrape.check("a.yml", "--metrics", url + path)
            assert (done.returncode, done.stdout) == (3, "")
            assert done.stderr.startswith(f"error[metrics/scrape] {url}{path}: {said}")


def test_answers_that_are_none(scrape):
    scrape.write(a=rules("sum(up)"))
    names, metadata = "/api/v1/label/__name__/values", "/api/v1/metadata"
    good = '{"status":"success","data":{}}'
    for answers in (
        {names: '{"status":"success","data":[]}', metadata: good},
        {names: '{"status":"success","data":5}', metadata: good},
        {names: '{"status":"success","data":["a"]}', metadata: "[" * 100_000},
        {names: '{"status":"success","data":["a"]}', metadata: '{"status":"error","error":"x"}'},
        {names: '{"status":"success","data":["a"]}'},
        {"/metrics": "", names: "<html>"},
    ):
        with serving(answers) as url:
            done = scrape.check("a.yml", "--metrics", url)
        assert (done.returncode, done.stdout) == (3, "")
        assert "error[metrics/scrape]" in done.stderr.splitlines()[0]


def test_what_does_not_answer(scrape):
    scrape.write(a=rules("sum(up)"))
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]  # nobody listens there once it is closed
    for address, said in (
        (f"http://127.0.0.1:{port}", "can't be asked: [Errno 111] Connection refused"),
        (f"http://127.0.0.1:{port}/metrics", "can't be asked: [Errno 111] Connection refused"),
        ("http://[", "can't be asked: "),
        ("http://", "can't be asked: "),
        ("http://a b/metrics", "can't be asked: "),
    ):
        done = scrape.check("a.yml", "--metrics", address)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith(f"error[metrics/scrape] {address.rstrip('/')}")
        assert said in done.stderr
    done = scrape.check("a.yml", "--metrics", "http://me:secret@127.0.0.1:1/metrics")
    assert done.returncode == 3
    assert "secret" not in done.stderr


def test_a_real_server(scrape, tmp_path):
    binary = shutil.which("prometheus")
    if not binary:
        pytest.skip("Prometheus is not here: apt-get install prometheus")
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    scraping = {"job_name": "self", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
    configuration = {"global": {"scrape_interval": "1s"}, "scrape_configs": [scraping]}
    (tmp_path / "prometheus.yml").write_text(json.dumps(configuration))
    command = [
        binary,
        "--config.file=prometheus.yml",
        "--storage.tsdb.path=data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + 30
            names = []
            while "prometheus_tsdb_head_series" not in names and time.monotonic() < end:
                with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/api/v1/label/__name__/values") as one:
                    names = json.load(one)["data"]
                time.sleep(0.1)
            scrape.write(
                a=rules(
                    "rate(prometheus_http_requests_total[5m])",
                    "rate(prometheus_tsdb_head_series[5m])",
                    "sum(prometheus_tsdb_head_serie)",
                )
            )
            done = scrape.check("a.yml", "--metrics", url)
            assert found(done) == [("7", "promql/counter"), ("9", "promql/metric")]
            assert 'did you mean "prometheus_tsdb_head_series"?' in done.stdout
            assert found(scrape.check("a.yml", "--metrics", f"{url}/metrics")) == found(done)
        finally:
            server.terminate()

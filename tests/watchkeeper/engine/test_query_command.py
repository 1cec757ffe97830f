"""`watchkeeper query`, as real processes."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys

import pytest

NOTATION = """
x_total{gpu="0"} 0+30x40
x_total{gpu="1"} 0+15x40
"""


def run(*arguments, stdin=None, cwd=None, **environment):
    command = [sys.executable, "-c", MAIN, "query", *arguments]
    return subprocess.run(
        command, input=stdin, capture_output=True, cwd=cwd, env={**os.environ, **environment}, check=False
    )


MAIN = "from watchkeeper.cli import main; main()"


def answer(*arguments, **options):
    done = run(*arguments, **options)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return done.stdout.decode()


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "x.series"
    path.write_text(NOTATION)
    return str(path)


def test_a_table(data):
    assert answer("x_total", "--data", data, "--at", "1m") == (
        "metric   gpu  value\nx_total  0      120\nx_total  1       60\n"
    )


def test_the_default_time_is_the_last_sample(data):
    assert answer("sum(x_total)", "--data", data) == "value\n 1800\n"


def test_a_range_as_a_table(data):
    text = answer("sum by (gpu) (x_total)", "--data", data, "--start", "0", "--end", "30", "--step", "15s")
    assert text == (
        "gpu  time  value\n0    0s        0\n     15s      30\n     30s      60\n"
        "1    0s        0\n     15s      15\n     30s      30\n"
    )


def test_json_is_the_data_of_the_http_api(data):
    found = json.loads(answer("x_total", "--data", data, "--at", "15.5", "--format", "json"))
    assert found == {
        "resultType": "vector",
        "result": [
            {"metric": {"__name__": "x_total", "gpu": "0"}, "value": [15.5, "30"]},
            {"metric": {"__name__": "x_total", "gpu": "1"}, "value": [15.5, "15"]},
        ],
    }
    found = json.loads(
        answer("delta(x_total[30s])", "--data", data, "--start", "1m", "--end", "2m", "--format", "json")
    )
    assert found["resultType"] == "matrix"
    assert found["result"][0]["metric"] == {"gpu": "0"}
    assert found["result"][0]["values"] == [[t, "60"] for t in (60, 75, 90, 105, 120)]
    assert json.loads(answer("1e300 * 10", "--data", data, "--format", "json"))["result"] == [600, "1e+301"]
    assert json.loads(answer('"a"', "--data", data, "--format", "json")) == {
        "resultType": "string",
        "result": [600, "a"],
    }


def test_a_range_selector(data):
    found = json.loads(answer('x_total{gpu="0"}[30s]', "--data", data, "--at", "30s", "--format", "json"))
    assert found["result"] == [{"metric": {"__name__": "x_total", "gpu": "0"}, "values": [[15, "30"], [30, "60"]]}]


def test_csv(data):
    text = answer("x_total", "--data", data, "--start", "15", "--end", "30", "--format", "csv")
    assert list(csv.reader(io.StringIO(text))) == [
        ["__name__", "gpu", "time", "value"],
        ["x_total", "0", "15", "30"],
        ["x_total", "0", "30", "60"],
        ["x_total", "1", "15", "15"],
        ["x_total", "1", "30", "30"],
    ]


def test_nothing(data):
    assert answer("y", "--data", data) == "no series\n"
    assert json.loads(answer("y", "--data", data, "--format", "json")) == {"resultType": "vector", "result": []}
    assert answer("y", "--data", data, "--format", "csv") == "time,value\n"


def test_scalars_and_strings(data):
    assert answer("1 + 2", "--data", data) == "3\n"
    assert answer("0/0", "--data", data) == "NaN\n"
    assert answer('"a\\u001bb"', "--data", data) == "a\\x1bb\n"


def test_native_histograms(tmp_path):
    path = tmp_path / "h.series"
    path.write_text("h {{schema:0 sum:5 count:4 buckets:[1 2 1]}}x3\n")
    found = json.loads(answer("h", "--data", str(path), "--format", "json"))
    value = found["result"][0]["histogram"]
    assert value[0] == 45
    assert value[1]["count"] == "4"
    assert value[1]["buckets"][1] == [0, "1", "2", "2"]
    assert "2" in answer("histogram_quantile(0.5, h)", "--data", str(path))


def test_formats_of_data(tmp_path):
    text = "# TYPE up gauge\nup 1 1600000000000\nup 0 1600000015000\n"
    for name, content in (("a.prom", text.encode()), ("b", text.encode()), ("c.gz", gzip.compress(text.encode()))):
        (tmp_path / name).write_bytes(content)
        out = answer("avg_over_time(up[1m])", "--data", name, "--format", "csv", cwd=tmp_path)
        assert out == "time,value\n1600000015,0.5\n"
        assert answer("up", "--data", "-", "--at", "2020-09-13T12:26:40Z", stdin=content, cwd=tmp_path).endswith(" 1\n")


def test_several_files(tmp_path):
    (tmp_path / "a.series").write_text("a 1x4\n")
    (tmp_path / "b.series").write_text("b 2x4\n")
    assert answer("a + on () b", "--data", "a.series", "--data", "b.series", cwd=tmp_path) == "value\n    3\n"


def test_dates_in_tables(tmp_path):
    (tmp_path / "a.prom").write_text("up 1 1600000000000\nup 1 1600000000500\n")
    text = answer("up", "--data", "a.prom", "--start", "1600000000", "--step", "500ms", cwd=tmp_path)
    assert "2020-09-13T12:26:40Z " in text
    assert "2020-09-13T12:26:40.500Z " in text


def test_compat(tmp_path):
    (tmp_path / "a.series").write_text("a 1x40\n")
    count = ["count_over_time(a[1m])", "--data", "a.series", "--format", "csv", "--at", "5m"]
    assert answer(*count, cwd=tmp_path) == "time,value\n300,4\n"
    assert answer(*count, "--compat", "2", cwd=tmp_path) == "time,value\n300,5\n"


def test_warnings_and_infos(data, tmp_path):
    (tmp_path / "a.series").write_text("a 1x40\n")
    done = run("rate(a[1m])", "--data", "a.series", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.decode().startswith("info: metric might not be a counter")
    done = run("quantile(2, x_total)", "--data", data)
    assert done.stderr.decode().startswith("warning: quantile value should be between 0 and 1, got 2 (1:10)")


@pytest.mark.parametrize(
    ("expr", "message", "place"),
    [
        ("sum(x", "1:6: error: ", "    sum(x\n         ^"),
        ("\n x )", "2:4: error: ", "     x )\n       ^"),
        ("x_total + on () x_total", "many-to-many", ""),
        ("topk(NaN, x_total)", "NaN", ""),
        ("(" * 10_000 + "1" + ")" * 10_000, "error: ", "^"),
    ],
)
def test_errors_in_expressions(data, expr, message, place):
    done = run(expr, "--data", data)
    error = done.stderr.decode()
    assert (done.returncode, done.stdout) == (1, b"")
    assert message in error
    assert place in error
    assert "Traceback" not in error
    assert len(error) < 5000


def test_errors_in_data(tmp_path):
    (tmp_path / "a.series").write_text("a 1\nb 1 oops\n")
    done = run("a", "--data", "a.series", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.decode().startswith("a.series:2:5: error: oops is no value")
    assert done.stderr.decode().endswith("    b 1 oops\n        ^\n")
    done = run("a", "--data", "-", stdin=b"# TYPE a gauge\na \xff\n")
    assert done.returncode == 1
    assert done.stderr.decode().startswith("<stdin>:2:3: error: byte 0xff is not UTF-8")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["x"],
        ["x", "--data", "missing.series"],
        ["x", "--data", "."],
        ["x", "--data", "a.series", "--at", "yesterday"],
        ["x", "--data", "a.series", "--at", "2026-01-01T00:00:00"],
        ["x", "--data", "a.series", "--at", "nan"],
        ["x", "--data", "a.series", "--at", "1e300"],
        ["x", "--data", "a.series", "--at", "1", "--step", "1m"],
        ["x", "--data", "a.series", "--step", "0"],
        ["x", "--data", "a.series", "--step", "x"],
        ["x", "--data", "a.series", "--start", "5", "--end", "4"],
        ["x", "--data", "a.series", "--interval", "-5s"],
        ["x", "--data", "a.series", "--compat", "4"],
    ],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_usage(tmp_path, arguments):
    (tmp_path / "a.series").write_text("x 1\n")
    done = run(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Traceback" not in done.stderr


def test_nothing_heavy_is_loaded_for_small_data(data):
    code = f"""
import sys
sys.argv = ["watchkeeper", "query", "sum(x_total)", "--data", {data!r}]
from watchkeeper.cli import main
try:
    main()
except SystemExit:
    pass
heavy = {{"numpy", "yaml", "jsonschema", "grafanalib", "watchkeeper.building", "watchkeeper.engine.histogram"}}
print(sorted(heavy & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "value\n 1800\n[]\n"


def test_no_colour_but_on_a_terminal(data):
    done = run("x +", "--data", data)
    assert b"\x1b" not in done.stderr
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    command = [sys.executable, "-c", MAIN, "query", "x +", "--data", data]
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    subprocess.run(command, stdout=slave, stderr=slave, env=environment, check=False)
    os.close(slave)
    assert b"\x1b[31merror:" in os.read(master, 10_000)
    os.close(master)


def test_help_has_examples():
    done = run("--help")
    assert done.returncode == 0
    assert b"watchkeeper query 'rate(x_total[5m])'" in done.stdout

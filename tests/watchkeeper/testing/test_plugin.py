"""The pytest plugin, on test sessions of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Loaded here, so that sessions in this process need not load them each anew.
import watchkeeper.engine.steps
import watchkeeper.load
import watchkeeper.render.rules
import watchkeeper.ruler.template
import watchkeeper.settings
import watchkeeper.testing.fixtures
import watchkeeper.testing.hooks
import watchkeeper.testing.runs
import watchkeeper.testing.series
import watchkeeper.testing.timeline  # noqa: F401

pytest_plugins = ["pytester"]

# Other plugins take most of a small session.
QUICK = [
    option for name in ("randomly", "cacheprovider", "xdist", "hypothesispytest") for option in ("-p", f"no:{name}")
]
SETTINGS = '[tool.watchkeeper]\ndefinitions = "acme_pack:PACK"\nrunbook_url = "https://runbooks.acme.com"\n'
PACK = Path(__file__).with_name("acme.py").read_text()


@pytest.fixture
def project(pytester):
    """A project of ours: settings, definitions, and what a test gives as its test module."""
    pytester.makefile(".toml", pyproject=SETTINGS)
    pytester.makepyfile(acme_pack=PACK)

    def run(tests, *options):
        pytester.makepyfile(test_acme=f"from acme_pack import *\n{tests}")
        return pytester.runpytest_inprocess(*QUICK, *options)

    return run


BOTH = """
def test_fires(pack):
    pack.run({ERRORS: "0+15x20"}, labels={"rack": "r1"}).fires(FAILING, summary="Rack r1")
def test_silent(pack):
    pack.run({ERRORS: "0x20"}, labels={"rack": "r1"}).silent(FAILING)
"""


def test_the_pack_is_the_projects(project):
    result = project(
        BOTH + "\ndef test_settings(pack):\n    assert 'AcmeCold' in pack.alerts\n    assert pack.pack == PACK\n"
    )
    result.assert_outcomes(passed=3)


def test_a_failure_shows_the_picture_and_not_our_frames(project):
    result = project('def test_x(pack):\n    pack.run({ERRORS: "0x20"}).fires(FAILING)\n')
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*AcmeFailing does not fire", "E*why: below the threshold*", "E*state*never pending"])
    assert "runs.py" not in "".join(line for line in result.outlines if line.startswith(">"))
    assert "def fires" not in result.stdout.str()


@pytest.mark.parametrize(
    "test",
    [
        'def test_x(pack):\n    run = pack.run({ERRORS: "0x20"})\n',
        'def test_x(pack):\n    run = pack.run({ERRORS: "0x20"})\n    run.value("acme_errors_total", "1m")\n',
        'from watchkeeper import testing\ndef test_x():\n    testing.run(PACK, {ERRORS: "0x20"})\n',
    ],
    ids=["run", "value", "without-the-fixture"],
)
def test_a_run_without_an_assertion_fails_the_test(project, test):
    result = project(test)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*nothing was asserted of the run made at test_acme.py:*call run.fires*"])


def test_a_run_without_an_assertion_of_a_test_that_fails_anyway(project):
    result = project('def test_x(pack):\n    run = pack.run({ERRORS: "0x20"})\n    assert 1 == 2\n')
    result.assert_outcomes(failed=1)
    assert "nothing was asserted" not in result.stdout.str()


FROM_FIXTURE = """
import pytest
@pytest.fixture(scope="module")
def run(pack):
    return pack.run({ERRORS: "0x20"})
def test_one(run):
    pass
def test_two(run):
    %s
"""


def test_a_run_of_a_fixture_may_be_asserted_by_another_test(project):
    project(FROM_FIXTURE % "run.silent(FAILING)").assert_outcomes(passed=2)


def test_a_run_of_a_fixture_that_no_test_asserts(project):
    result = project(FROM_FIXTURE % "pass")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*nothing was asserted of the run made at test_acme.py:6*"])


def test_a_run_of_a_fixture_whose_test_was_not_chosen(project):
    project(FROM_FIXTURE % "run.silent(FAILING)", "-k", "one").assert_outcomes(passed=1, deselected=1)


def test_a_project_without_settings(pytester):
    pytester.makepyfile(acme_pack=PACK)
    pytester.makepyfile(
        "from acme_pack import *\nfrom watchkeeper import testing\n"
        'def test_x():\n    testing.run(PACK, {ERRORS: "0x20"})\n'
        'def test_y():\n    testing.run(PACK, {ERRORS: "0x20"}).silent(FAILING)\n'
    )
    result = pytester.runpytest_inprocess("-p", "no:randomly")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*nothing was asserted of the run*"])


def test_definitions_that_do_not_load(project, pytester):
    pytester.makefile(".toml", pyproject='[tool.watchkeeper]\ndefinitions = "acme_pack:PAKC"\n')
    result = project(BOTH)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(['*acme_pack has no "PAKC"*'])


def test_settings_without_definitions(project, pytester):
    pytester.makefile(".toml", pyproject="[tool.watchkeeper]\nteams = []\n")
    result = project(BOTH)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*has no definitions: write definitions = *"])


def test_settings_that_are_wrong(project, pytester):
    pytester.makefile(".toml", pyproject="[tool.watchkeeper]\ndefinitons = 'x'\n")
    result = project(BOTH)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(['*unknown key "definitons"; did you mean "definitions"?*'])


# Coverage


def coverage(result):
    lines = result.outlines
    start = next(number for number, line in enumerate(lines) if "alert coverage" in line)
    return [line for line in lines[start + 1 :] if not line.startswith("=")]


def test_coverage(project):
    result = project(BOTH + 'def test_cold(pack):\n    pack.run({LOAD: "0x9"}).fires(COLD)\n', "--alert-coverage")
    assert coverage(result) == [
        "alert       fires  silent",
        "AcmeLoaded  no     no",
        "AcmeCold    yes    no",
        "AcmeEither  no     no",
        "AcmeQuiet   no     no",
        "AcmeGone    no     no",
        "1 of 6 alerts have a firing and a silent test (16 %)",
    ]
    assert result.ret == 0


def test_coverage_can_fail_the_run(project):
    result = project(BOTH, "--alert-coverage-fail")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert coverage(result)[-1] == "1 of 6 alerts have a firing and a silent test (16 %)"


ALL = """
import pytest
LABELS = {"instance": "i1", "rack": "r1", "fan": "9"}
@pytest.mark.parametrize("name", list(PACK.alerts))
def test_all(pack, name):
    labels = {"instance": "i1"}
    bad = {
        "AcmeFailing": {ERRORS: "0+15x20"}, "AcmeLoaded": {LOAD: "9x9", LIMIT: "1x9", READY: "1x9"},
        "AcmeCold": {LOAD: "0x9"}, "AcmeEither": {READY: "7x9"},
        "AcmeQuiet": {ERRORS: "1x9"}, "AcmeGone": {LOAD: "1x9"},
    }
    good = {
        "AcmeFailing": {ERRORS: "0x20"}, "AcmeLoaded": {LOAD: "0x9", LIMIT: "1x9", READY: "1x9"},
        "AcmeCold": {LOAD: "1x9"}, "AcmeEither": {READY: "1x9"},
        "AcmeQuiet": {ERRORS: "0x9"}, "AcmeGone": {READY: "1x9"},
    }
    pack.run(bad[name], labels=labels).fires(name)
    pack.run(good[name], labels=labels).silent(name)
"""


def test_whole_coverage(project):
    result = project(ALL, "--alert-coverage-fail")
    assert result.ret == 0, result.stdout.str()
    assert coverage(result)[0] == "6 of 6 alerts have a firing and a silent test (100 %)"


@pytest.mark.usefixtures("project")
def test_coverage_is_gathered_from_other_processes(pytester):
    pytester.makepyfile(acme_pack=PACK, test_acme=f"from acme_pack import *\n{ALL}")
    result = pytester.runpytest_subprocess(
        "-p", "no:randomly", "-p", "no:hypothesispytest", "-n", "1", "--alert-coverage-fail"
    )
    assert result.ret == 0, result.stdout.str()
    assert coverage(result)[0] == "6 of 6 alerts have a firing and a silent test (100 %)"


def test_what_fails_covers_nothing(project):
    fails = BOTH.replace('summary="Rack r1")', 'summary="Rack r1")\n    assert 1 == 2')
    result = project(fails, "--alert-coverage")
    assert "AcmeFailing  no     yes" in coverage(result)


def test_an_alert_of_the_same_name_elsewhere_covers_nothing(project):
    other = """
from watchkeeper import testing
def test_other():
    pack = PACK.replace("AcmeFailing", expr="acme_errors_total > 5")
    run = testing.run(pack, {ERRORS: "0+1x20"})
    run.fires(FAILING)
    run.silent(FAILING, until="1m")
"""
    assert "AcmeFailing  no     no" in coverage(project(other, "--alert-coverage"))


def test_coverage_without_a_pack(pytester):
    pytester.makepyfile("def test_x():\n    pass\n")
    result = pytester.runpytest_inprocess("--alert-coverage-fail")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*has no definitions*"])


def test_coverage_without_tests_is_no_coverage(project):
    assert project("", "--alert-coverage-fail").ret == pytest.ExitCode.TESTS_FAILED


def test_coverage_is_not_looked_at_unless_asked(project):
    assert "alert coverage" not in project(BOTH).stdout.str()


# A foreign run


LOADED = """
import sys, json
import pytest
before = set(sys.modules)
import watchkeeper.pytest_plugin
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_a_foreign_run_pays_for_three_small_modules():
    run = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == ["watchkeeper", "watchkeeper._version", "watchkeeper.pytest_plugin"]


def test_a_foreign_run_loads_nothing_more(pytester):
    pytester.makepyfile("import sys\ndef test_x():\n    assert 'watchkeeper.testing' not in sys.modules\n")
    result = pytester.runpytest_subprocess("-p", "no:randomly", "-W", "error")
    result.assert_outcomes(passed=1)


def test_it_can_be_left_out(pytester):
    pytester.makepyfile("def test_x(request):\n    assert not request.config.pluginmanager.has_plugin('watchkeeper')\n")
    pytester.runpytest_subprocess("-p", "no:watchkeeper").assert_outcomes(passed=1)

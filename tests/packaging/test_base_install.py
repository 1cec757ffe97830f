"""The wheel without extras, as a training image with everything pinned takes it: standard library only."""

import json
import subprocess

import watchkeeper

LOADED = """
import sys
before = set(sys.modules)
import watchkeeper
for name in watchkeeper.__all__:
    getattr(watchkeeper, name)
import watchkeeper_fleet.metrics.agent
import json
ours = ("watchkeeper", "watchkeeper_fleet")
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps({
    "names": watchkeeper.__all__,
    "file": watchkeeper.__file__,
    "others": sorted(loaded - sys.stdlib_module_names - set(ours)),
    "path": sys.path,
}))
"""


def test_public_names_take_the_standard_library_only(base_install, clean_environment, tmp_path):
    command = [base_install, "-c", LOADED]
    run = subprocess.run(command, cwd=tmp_path, env=clean_environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["names"] == watchkeeper.__all__
    assert told["others"] == []
    assert told["file"].startswith(str(base_install.parents[1]))


def test_the_command_says_what_to_install(base_install, clean_environment, tmp_path):
    command = [base_install.with_name("watchkeeper"), "--help"]
    run = subprocess.run(command, cwd=tmp_path, env=clean_environment, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.endswith("pip install 'watchkeeper[generator]'\n")
    assert "Traceback" not in run.stderr

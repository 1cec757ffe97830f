"""What is in the wheel and in the source distribution, and what they say of themselves."""

from __future__ import annotations

import configparser
import email
import email.message
import tarfile
import zipfile
from pathlib import Path

import pytest

import watchkeeper

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "generator", ROOT / "monitoring")
DIST_INFO = f"watchkeeper-{watchkeeper.__version__}.dist-info"


@pytest.fixture(scope="module")
def contents(built) -> dict[str, bytes]:
    with zipfile.ZipFile(built.wheel) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


@pytest.fixture(scope="module")
def metadata(contents) -> email.message.Message:
    return email.message_from_string(contents[f"{DIST_INFO}/METADATA"].decode())


def test_nothing_else_lies_at_top_level(contents):
    # A wheel that installed `monitoring` or `generator` would shadow a package of the user's.
    names = {"watchkeeper", "watchkeeper_fleet", "watchkeeper_agent.pth", "watchkeeper_agent.start", DIST_INFO}
    assert {name.split("/")[0] for name in contents} == names


def test_it_holds_every_file_of_the_sources(contents):
    sources = {
        str(path.relative_to(root)): path.read_bytes()
        for root in SOURCES
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name: data for name, data in contents.items() if not name.startswith(DIST_INFO)}
    assert packed.keys() == sources.keys()
    assert packed == sources


@pytest.mark.parametrize(
    "pattern",
    [
        "watchkeeper/py.typed",
        "watchkeeper_fleet/py.typed",
        "watchkeeper/schemas/*.json",
        "watchkeeper_fleet/runbooks/*.md",
    ],
)
def test_data_files_are_there(contents, pattern):
    assert [name for name in contents if Path(name).match(pattern)]


def test_metadata(contents, metadata):
    assert metadata["Name"] == "watchkeeper"
    assert metadata["Version"] == watchkeeper.__version__
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert contents[f"{DIST_INFO}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert metadata.get_payload().strip() == (ROOT / "README.md").read_text().strip()


def test_the_base_install_has_no_dependency(metadata):
    required = metadata.get_all("Requires-Dist")
    assert required
    assert [line for line in required if "extra ==" not in line] == []
    assert {"generator", "dev"} <= set(metadata.get_all("Provides-Extra"))


def test_entry_points(contents):
    entry_points = configparser.ConfigParser()
    entry_points.read_string(contents[f"{DIST_INFO}/entry_points.txt"].decode())
    assert dict(entry_points["console_scripts"]) == {"watchkeeper": "watchkeeper.cli:main"}
    assert dict(entry_points["pytest11"]) == {"watchkeeper": "watchkeeper.pytest_plugin"}
    assert entry_points.sections() == ["console_scripts", "pytest11"]


def test_the_source_distribution_makes_the_same_wheel(built):
    assert built.wheel.name == built.wheel_of_sdist.name
    assert built.wheel.read_bytes() == built.wheel_of_sdist.read_bytes()


def test_the_source_distribution_holds_what_it_should(built):
    with tarfile.open(built.sdist) as sdist:
        top_level = {name.split("/")[1] for name in sdist.getnames() if "/" in name}
    assert {"generator", "monitoring", "pyproject.toml", "PKG-INFO", "LICENSE", "README.md"} <= top_level
    assert top_level <= {
        *("generator", "monitoring", "pyproject.toml", "PKG-INFO", "LICENSE", "README.md", "CHANGELOG.md", ".gitignore")
    }

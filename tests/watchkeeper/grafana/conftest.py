import importlib
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

from watchkeeper import Pack
from watchkeeper.project import Project
from watchkeeper.proof.catalogue import Catalogue
from watchkeeper.render.grafana import to_text

_SPEC = importlib.util.spec_from_file_location("grafana_corpus", Path(__file__).with_name("corpus.py"))
_CORPUS = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_CORPUS)


@pytest.fixture
def corpus():
    """The module with dashboards of every kind."""
    return _CORPUS


@pytest.fixture(params=_CORPUS.SOURCES)
def source(request):
    """Each dashboard of the corpus in turn."""
    return _CORPUS.SOURCES[request.param]()


@pytest.fixture
def render():
    """Render a dashboard: (Rendered, findings)."""
    return _CORPUS.render


@pytest.fixture
def panel():
    """The model of a single panel, rendered in a dashboard of its own."""

    def run(panel, **more):
        source = {"uid": "x", "title": "X", "templating": _CORPUS.VARIABLES, "panels": [panel]}
        rendered, _ = _CORPUS.render(source, **more)
        return rendered.model["panels"][0]

    return run


@pytest.fixture
def check():
    """Run one check over dashboards, and return its findings."""

    def run(name, *sources, grafana=(12, 2)):
        dashboards = tuple(_CORPUS.render(source, grafana)[0] for source in sources)
        settings = SimpleNamespace(targets=SimpleNamespace(grafana=grafana), folders={}, outputs={})
        module = importlib.import_module(f"watchkeeper.checks.dashboard_{name.replace('-', '_')}")
        assert f"dashboard/{name}" == module.ID
        files = {f"dashboards/{dashboard.uid}.json": to_text(dashboard.model) for dashboard in dashboards}
        project = Project(Pack(), settings, Catalogue(closed=False), dashboards=tuple(dashboards), files=files)
        findings = list(module.check(project))
        for finding in findings:
            assert finding.check == module.ID
            assert finding.place
            assert finding.why
            assert finding.fix
        return findings

    return run

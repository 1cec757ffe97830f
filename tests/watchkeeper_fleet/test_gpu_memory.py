"""GPU memory: thresholds and panels that people rely on."""

import pytest

from watchkeeper.project import panels_of


def panel_of(project, alert):
    ((uid, key, _),) = panels_of(project.pack, project.dashboards)[alert.name]
    return uid, key


def test_one_retry_is_enough(project):
    alert = project.pack.alerts["GPUAllocatorRetrying"]
    assert (alert.threshold.op, alert.threshold.value) == (">", 0)
    assert panel_of(project, alert) == ("gpu-memory", "cache-flushes-in-2-minutes")


def test_the_post_mortems_figures(project):
    alert = project.pack.alerts["HighGPUMemoryFragmentation"]
    assert (alert.threshold.op, alert.threshold.value, alert.for_) == (">", 0.30, "5m")
    assert alert.severity == "critical"


@pytest.mark.parametrize("name", ["GPUMemoryHeadroomLow", "GPUMemoryJump", "GPUMemoryLeak"])
def test_loading_a_model_is_not_a_runaway(project, name):
    assert "min_over_time(torch_process_ready[" in project.pack.alerts[name].expr


def test_a_panel_draws_the_threshold_of_its_alert(project):
    (dashboard,) = (d for d in project.dashboards if d.uid == "gpu-memory")
    (panel,) = (p for p in dashboard.panels if "HighGPUMemoryFragmentation" in p.alerts)
    steps = dashboard.panel(panel)["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert [step["value"] for step in steps] == [None, 0.30]

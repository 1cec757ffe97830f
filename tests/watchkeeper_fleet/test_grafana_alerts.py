"""The pack's alerts in Grafana's form fire where Prometheus' do: both are asked all through an incident."""

import operator

import yaml

from watchkeeper.building import build
from watchkeeper.render import grafana_alerts
from watchkeeper.settings import Settings
from watchkeeper_fleet.incidents import rc9902
from watchkeeper_fleet.pack import PACK

COMPARED = {
    "gt": operator.gt,
    "lt": operator.lt,
    "eq": operator.eq,
    "ne": operator.ne,
    "gte": operator.ge,
    "lte": operator.le,
}


def firing(run, rule, at):
    """Return the labels of the series that a rule of Grafana's fires for, as its documentation says."""
    models = {part["refId"]: part["model"] for part in rule["data"]}
    values = run.values(models["A"]["expr"], at)
    if models["C"]["type"] == "math":
        return set(values)
    evaluator = models["C"]["conditions"][0]["evaluator"]
    meets = COMPARED[evaluator["type"]]
    # Grafana's comparisons with NaN are Go's, as Prometheus' are.
    return {labels for labels, value in values.items() if meets(value, evaluator["params"][0])}


def test_they_fire_for_the_same_series(pack, tmp_path):
    settings = Settings(tmp_path, outputs={"grafana-alerts": grafana_alerts.Options(datasource="prom")})
    project, findings = build(PACK, settings)
    assert [finding for finding in findings if finding.check == grafana_alerts.ID] == []
    groups = yaml.safe_load(project.files[grafana_alerts.PATH])["groups"]
    rules = {rule["title"]: rule for group in groups for rule in group["rules"]}
    assert set(rules) == set(PACK.alerts)

    run = pack.run(rc9902.incident("linear"))
    run.fires("GPUMemoryHeadroomLow")
    fired = 0
    for at in ("30m", "59m", "1h1m", "1h3m", "1h5m", "1h10m", "1h19m"):
        for name, alert in PACK.alerts.items():
            wanted = set(run.values(alert.expr, at))
            assert firing(run, rules[name], at) == wanted, (name, at)
            fired += len(wanted)
    assert fired > 100
    assert sum(models["model"]["type"] == "threshold" for rule in rules.values() for models in rule["data"][2:]) > 20

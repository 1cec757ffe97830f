"""The alerts that came out of an outage: one could not say where, and could not see one GPU among many."""

import pytest

from watchkeeper.read.kinds import parts
from watchkeeper.read.rules import rule_groups
from watchkeeper.read.source import File

# As it was published, its indentation mended.
RULES = """\
groups:
- name: AI_Inference_Alerts
  rules:
  - alert: HighGPUMemoryFragmentation
    expr: (sum(torch_cuda_memory_reserved_bytes) - sum(torch_cuda_memory_allocated_bytes)) / sum(torch_cuda_memory_reserved_bytes) > 0.3
    for: 5m
    labels:
      severity: critical
    annotations:
      summary: "GPU Memory Fragmentation too high on {{ $labels.instance }}"
      description: "Fragmentation is above 30%. OOM imminent. Python 3.11.4 allocator failing."
  - alert: LatencyP99Spike
    expr: histogram_quantile(0.99, sum(rate(inference_latency_seconds_bucket[5m])) by (le)) > 2.0
    for: 1m
    labels:
      severity: warning
    annotations:
      summary: "p99 Latency exceeds 2 seconds."
"""  # noqa: E501 - as it was published

IN_A_BLOCK = RULES.replace(
    """      summary: "GPU Memory Fragmentation too high on {{ $labels.instance }}"
""",
    """      summary: >-
        GPU Memory Fragmentation
        too high on {{ $labels.instance }}
""",
)


def groups_of(text):
    file = File("gpu-alerts.rules", text)
    ((kind, node, faults),) = parts(file)
    assert (kind, faults) == ("rules", [])
    groups, faults = rule_groups(node, file)
    assert faults == []
    return groups


def shown(finding):
    return finding.excerpt.text[finding.excerpt.start : finding.excerpt.end]


@pytest.mark.parametrize(("text", "line", "column"), [(RULES, 10, 65), (IN_A_BLOCK, 12, 32)])
def test_what_is_wrong_with_them_is_told_where_it_stands(anyone, text, line, column):
    identity, label = [one for one in anyone.findings("", *groups_of(text)) if one.severity != "note"]
    assert str(identity.place) == "gpu-alerts.rules:5:12"
    assert identity.check == "alert/identity"
    assert (
        identity.excerpt.text[identity.excerpt.start : identity.excerpt.end] == "sum(torch_cuda_memory_reserved_bytes)"
    )
    assert str(label.place) == f"gpu-alerts.rules:{line}:{column}"
    assert shown(label) == "instance"
    assert label.message.endswith("annotation summary: $labels.instance is always empty: sum() keeps no label")

"""Nodes: fallen out alone or one after another, devices hot, lost or broken; and what is somebody's doing."""

import pytest

from watchkeeper_fleet.alerts.nodes import (
    CASCADE,
    CONTAINER_OOM,
    DEVICE_LOST,
    HOT,
    NO_LIMIT,
    NODE_OOM,
    NOT_READY,
    PULL,
    UNCORRECTABLE,
    XID,
)
from watchkeeper_fleet.metrics.exporter import (
    DEVICES_EXPECTED,
    DEVICES_VISIBLE,
    ECC_ERRORS,
    EGRESS_CAPACITY,
    ROW_REMAP_FAILED,
    SLOWDOWN_TEMPERATURE,
    TEMPERATURE,
    THROTTLED,
    XID_ERRORS,
)
from watchkeeper_fleet.metrics.external import (
    LIMITS,
    NETWORK_RECEIVED,
    NODE_CAPACITY,
    NODE_CONDITION,
    NODE_OOM_KILLS,
    NODE_UNSCHEDULABLE,
    POD_PHASE,
    POD_READY,
    REQUESTS,
    RESTARTS,
    TERMINATED_REASON,
)

KUBE = {"job": "kube-state-metrics", "instance": "ksm", "cluster": "c1"}
HOST = {"job": "watchkeeper", "instance": "n1", "node": "n1", "cluster": "c1"}
GPU = {**HOST, "gpu": "3"}
CONTAINER = {**KUBE, "namespace": "ai", "pod": "chat-0", "container": "server", "uid": "u0"}
IN_POD = {"namespace": "ai", "pod": "chat-0", "uid": "u0"}


def nodes(ready, *, cordoned=(), gpus=8):
    """kube-state-metrics' word on nodes: the notation of Ready=true by name, those cordoned from the start."""
    series = {}
    for node, values in ready.items():
        series[NODE_CONDITION.where(node=node, condition="Ready", status="true")] = values
        series[NODE_CAPACITY.where(node=node, resource="nvidia_com_gpu", unit="integer")] = f"{gpus}x80"
        series[NODE_UNSCHEDULABLE.where(node=node)] = f"{int(node in cordoned)}x80"
    return series


def test_a_node_that_is_not_ready(pack):
    run = pack.run(nodes({"n1": "1x10 0x40", "n2": "1x50"}), labels=KUBE)
    run.fires(NOT_READY, first="3m45s", count=1, summary="GPU node n1 is not ready", description="nodes of c1")


def test_a_node_that_is_back_within_a_minute(pack):
    pack.run(nodes({"n1": "1x10 0x3 1x40"}), labels=KUBE).silent(NOT_READY)


def test_a_node_that_is_serviced(pack):
    pack.run(nodes({"n1": "1x10 0x40"}, cordoned=["n1"]), labels=KUBE).silent(NOT_READY)


def test_a_node_without_gpus_is_no_matter_of_ours(pack):
    pack.run(nodes({"n1": "1x10 0x40"}, gpus=0), labels=KUBE).silent(NOT_READY)


def test_nodes_that_fall_one_after_another(pack):
    run = pack.run(nodes({"n1": "1x10 0x60", "n2": "1x18 0x52", "n3": "1x70"}), labels=KUBE)
    run.fires(CASCADE, first="4m45s", summary="2 GPU nodes of c1 fell out within 10 minutes")


def test_two_nodes_that_have_been_out_for_long(pack):
    # Ready for the last time 15 minutes before the second falls.
    run = pack.run(nodes({"n1": "1x4 0x75", "n2": "1x64 0x15", "n3": "1x79"}), labels=KUBE)
    run.silent(CASCADE)


def test_two_nodes_that_are_serviced(pack):
    run = pack.run(nodes({"n1": "1x10 0x60", "n2": "1x12 0x60"}, cordoned=["n1", "n2"]), labels=KUBE)
    run.silent(CASCADE)


def test_one_node_each_of_two_clusters_is_no_cascade(pack):
    first = nodes({"n1": "1x10 0x60", "n2": "1x70"})
    second = {key.replace("{", '{cluster="c2",'): values for key, values in nodes({"n1": "1x12 0x60"}).items()}
    pack.run(first, second, labels=KUBE).silent(CASCADE)


def test_a_container_that_is_killed_and_restarts(pack):
    run = pack.run({RESTARTS: "0x20 1x100", TERMINATED_REASON.where(reason="OOMKilled"): "_x21 1x99"}, labels=CONTAINER)
    run.fires(CONTAINER_OOM, first="5m15s", summary="ai/chat-0 (server) was killed for want of memory")
    run.resolves(CONTAINER_OOM, at="25m")


def test_the_reason_of_an_old_kill_stays(pack):
    # Killed weeks ago, not restarted since.
    run = pack.run({RESTARTS: "3x80", TERMINATED_REASON.where(reason="OOMKilled"): "1x80"}, labels=CONTAINER)
    run.silent(CONTAINER_OOM)


def test_a_restart_for_another_reason(pack):
    run = pack.run({RESTARTS: "0x20 1x60", TERMINATED_REASON.where(reason="Error"): "_x21 1x59"}, labels=CONTAINER)
    run.silent(CONTAINER_OOM)


def test_the_kernel_kills(pack):
    run = pack.run({NODE_OOM_KILLS: "0x20 1x80"}, labels={**HOST, "job": "node"})
    run.fires(NODE_OOM, first="5m15s", summary="The kernel of n1 kills", labels={"severity": "warning"})
    run.resolves(NODE_OOM, at="20m")


def test_kills_of_the_past(pack):
    # And none after a reboot, which starts the count again.
    pack.run({NODE_OOM_KILLS: "12x20 0x60"}, labels={**HOST, "job": "node"}).silent(NODE_OOM)


def pod(limit, phase="Running", requested="nvidia_com_gpu"):
    series = {
        REQUESTS.where(resource=requested, unit="integer", **IN_POD, container="server"): "1x90",
        POD_PHASE.where(phase=phase, **IN_POD): "1x90",
        LIMITS.where(resource="cpu", unit="core", **IN_POD, container="server"): "8x90",
    }
    if limit:
        series[LIMITS.where(resource="memory", unit="byte", **IN_POD, container="server")] = "68719476736x90"
    return series


@pytest.mark.parametrize("resource", ["nvidia_com_gpu", "nvidia_com_mig_1g_10gb"])
def test_a_pod_without_a_limit(pack, resource):
    run = pack.run(pod(limit=False, requested=resource), labels=KUBE)
    run.fires(NO_LIMIT, first="15m", summary="ai/chat-0 has GPUs and no memory limit", description="server may take")


def test_a_pod_with_a_limit(pack):
    pack.run(pod(limit=True), labels=KUBE).silent(NO_LIMIT)


def test_a_pod_that_has_ended(pack):
    pack.run(pod(limit=False, phase="Succeeded"), labels=KUBE).silent(NO_LIMIT)


def test_a_device_near_its_limit(pack):
    run = pack.run({TEMPERATURE: "70x10 91x40", SLOWDOWN_TEMPERATURE: "93x50"}, labels=GPU)
    run.fires(HOT, first="7m45s", summary="GPU 3 on n1 is too hot")


def test_a_device_that_is_slowed_down(pack):
    run = pack.run({THROTTLED.where(reason="thermal"): "0+5x60"}, labels=GPU)
    run.fires(HOT, by="8m")


def test_a_hot_day(pack):
    # 85 °C would alarm anyone but a device that bears 93.
    pack.run({TEMPERATURE: "85x60", SLOWDOWN_TEMPERATURE: "93x60"}, labels=GPU).silent(HOT)


def test_a_device_that_is_held_to_its_power(pack):
    run = pack.run(
        {
            THROTTLED.where(reason="power"): "0+15x60",
            TEMPERATURE: "70x60",
            SLOWDOWN_TEMPERATURE: "93x60",
        },
        labels=GPU,
    )
    run.silent(HOT)


def test_the_driver_reports_a_fault(pack):
    run = pack.run({XID_ERRORS.where(xid="79"): "0x10 1x300"}, labels=GPU)
    run.fires(XID, first="2m45s", summary="XID 79 on GPU 3 of n1")
    run.resolves(XID, at="1h12m30s")


@pytest.mark.parametrize("xid", ["13", "31", "43", "45"])
def test_faults_of_an_application(pack, xid):
    pack.run({XID_ERRORS.where(xid=xid): "0x10 0+1x60"}, labels=GPU).silent(XID)


def test_devices_that_are_gone(pack):
    run = pack.run({DEVICES_EXPECTED: "8x40", DEVICES_VISIBLE: "8x10 6x30"}, labels=HOST)
    run.fires(DEVICE_LOST, first="3m45s", summary="2 GPUs of n1 are gone")


def test_all_devices_are_there(pack):
    # A change of the expected number while the exporter starts anew, for less than a minute.
    pack.run({DEVICES_EXPECTED: "8x40", DEVICES_VISIBLE: "8x10 0x2 8x28"}, labels=HOST).silent(DEVICE_LOST)


def test_memory_that_is_faulty(pack):
    run = pack.run({ECC_ERRORS.where(kind="uncorrected"): "0x10 1x20"}, labels=GPU)
    run.fires(UNCORRECTABLE, first="2m45s", summary="Memory of GPU 3 on n1 is faulty")


def test_a_row_that_could_not_be_remapped(pack):
    pack.run({ROW_REMAP_FAILED: "0x10 1x20"}, labels=GPU).fires(UNCORRECTABLE, first="2m45s")


def test_errors_that_were_corrected(pack):
    run = pack.run({ECC_ERRORS.where(kind="corrected"): "0+50x60", ROW_REMAP_FAILED: "0x60"}, labels=GPU)
    run.silent(UNCORRECTABLE)


def pull(received, waiting, device="eth0"):
    """`received` bytes a second on each of four hosts, `waiting` GPU pods that are not ready, and 4 GB/s way out."""
    series = {EGRESS_CAPACITY.where(instance="n1", job="watchkeeper"): "4e9x80"}
    for host in range(4):
        series[NETWORK_RECEIVED.where(device=device, instance=f"n{host}", job="node")] = f"0+{received * 15}x80"
    for number in range(waiting):
        names = {"namespace": "ai", "pod": f"chat-{number}", "uid": f"u{number}"}
        series[POD_READY.where(condition="false", **names)] = "1x80"
        series[REQUESTS.where(resource="nvidia_com_gpu", unit="integer", container="server", **names)] = "1x80"
    return series


def test_weights_that_are_pulled_by_all_at_once(pack):
    run = pack.run(pull(int(0.9e9), 8), labels={"cluster": "c1"})
    run.fires(PULL, first="7m", summary="c1 uses 90% of what its way out carries")


def test_traffic_without_pods_that_wait(pack):
    # A backup at night.
    pack.run(pull(int(0.95e9), 1), labels={"cluster": "c1"}).silent(PULL)


def test_ranks_that_talk_over_infiniband(pack):
    pack.run(pull(int(20e9), 8, device="ib0"), labels={"cluster": "c1"}).silent(PULL)

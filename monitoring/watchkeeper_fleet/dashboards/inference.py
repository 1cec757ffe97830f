"""Inference: do callers get answers, how fast, are they sane, and what slows them down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import watchkeeper.dashboards as d
from watchkeeper.contract import re
from watchkeeper_fleet.alerts.inference import (
    CALLS,
    DRIFT,
    ERRORS,
    FAILING,
    GARBAGE,
    KERNEL_P99,
    KERNEL_SLOW,
    P99,
    SLOW,
    STUCK,
    WEIGHTS_CHANGED,
)
from watchkeeper_fleet.alerts.serving import ENDPOINT_DOWN, UPSTREAM, VECTORS_DOWN
from watchkeeper_fleet.alerts.serving import ERRORS as INGRESS_ERRORS
from watchkeeper_fleet.alerts.serving import REQUESTS as INGRESS_CALLS
from watchkeeper_fleet.dashboards.parts import (
    BARS,
    CLUSTERS,
    colours,
    counted,
    events,
    level,
    links,
    names,
    tile,
    to,
)
from watchkeeper_fleet.metrics.agent import (
    DTYPE_CHANGES,
    EMBEDDING_COSINE,
    EMBEDDING_NORM,
    EMBEDDING_PSI,
    EMBEDDING_SAMPLES,
    IN_PROGRESS,
    INFERENCE_ERRORS,
    LATENCY,
    MEMORY_JUMPS,
    NONFINITE,
    NONFINITE_TENSORS,
    OLDEST_IN_PROGRESS,
    PARAMETER_BYTES,
    READY,
)
from watchkeeper_fleet.metrics.external import INGRESS_REQUESTS, PROBE_SUCCESS

if TYPE_CHECKING:
    from watchkeeper import Pack

# A function is served by many nodes and its figures are of all of them, so there is no choice of node.
WORKLOADS = {**CLUSTERS, "workload": re("$workload")}
FUNCTIONS = {**WORKLOADS, "function": re("$function")}

FUNCTION = "{{workload}} {{function}}"
PROCESS = "{{workload}} {{process}} on {{node}}"

CALLING, SLOWEST, FAILED = CALLS.where(**FUNCTIONS), P99.where(**FUNCTIONS), ERRORS.where(**FUNCTIONS)
OLDEST, NANS = OLDEST_IN_PROGRESS.where(**FUNCTIONS), NONFINITE.where(**FUNCTIONS)
NAN_TENSORS = NONFINITE_TENSORS.where(**WORKLOADS)
BUCKETS = LATENCY.bucket.where(**FUNCTIONS)
PSI, SAMPLES = EMBEDDING_PSI.where(**WORKLOADS), EMBEDDING_SAMPLES.where(**WORKLOADS)
SERVING = f"on (cluster, instance, process) {READY.where(**WORKLOADS)} == 1"
CHANGED = f"increase({DTYPE_CHANGES.where(**WORKLOADS)}[5m]) and {SERVING}"
KERNELS = KERNEL_P99.where(**WORKLOADS)
AGAINST_YESTERDAY = f"{KERNELS} / avg_over_time({KERNELS}[1d] offset 1d)"
ENDPOINTS = PROBE_SUCCESS.where(job="blackbox-inference", **CLUSTERS)
VECTORS = PROBE_SUCCESS.where(job="blackbox-vector-database", **CLUSTERS)
REFUSED, REQUESTED = INGRESS_ERRORS.where(**CLUSTERS), INGRESS_CALLS.where(**CLUSTERS)

# The second conditions of the alerts: fewer calls, or a smaller window, say nothing.
CALLED = f"{CALLING} > 0.1"
LARGE_ENOUGH = f"{SAMPLES} >= 1000"

UP = {0: ("does not answer", "red"), 1: ("answers", "green")}


def dashboard(pack: Pack) -> Any:
    """Return the dashboard `inference`."""
    return d.dashboard(
        uid="inference",
        title="Inference",
        description="What callers get: answers or errors, how fast, and whether the answers make sense.",
        tags=["inference", "watchkeeper"],
        time=("now-3h", "now"),
        refresh="30s",
        variables=[
            d.datasource(),
            d.label_values("cluster", LATENCY.count, label="Cluster"),
            d.label_values("workload", LATENCY.count.where(**CLUSTERS), label="Workload"),
            d.label_values("function", LATENCY.count.where(**WORKLOADS), label="Function"),
        ],
        links=links(),
        panels=[
            d.row("Is it fine?", _summary(pack)),
            d.row("Do callers get through?", _callers(pack)),
            d.row("How slow is it?", _latency(pack)),
            d.row("Does it fail or hang?", _errors(pack)),
            d.row("Are the answers sane?", _answers(pack)),
            d.row("Did somebody change the weights?", _weights(pack)),
            d.row("Are the kernels slower?", _kernels(pack)),
        ],
    )


def _summary(pack: Pack) -> list[Any]:
    return [
        tile(
            "Endpoints down",
            counted(f"{ENDPOINTS} == 0", ENDPOINTS),
            (
                "Probed as a caller would. Red: callers get nothing at all, whatever else is green. No data: nothing "
                "probes."
            ),
        ),
        tile(
            "Vector databases down",
            counted(f"{VECTORS} == 0", VECTORS),
            "Red: retrieval fails, and answers come without it or not at all. No data: nothing probes.",
        ),
        tile(
            "Worst ingress",
            f"max({REFUSED} and {REQUESTED} > 1)",
            "The share of 5xx at the ingress that has most. Red while functions are fine: calls never reach them.",
            unit="percentunit",
            decimals=1,
            thresholds=colours(pack, UPSTREAM),
        ),
        tile(
            "Worst function",
            f"max({FAILED} and {CALLED})",
            "The share of calls that raise, of the function that has most. No data: nothing is called.",
            unit="percentunit",
            decimals=1,
            thresholds=colours(pack, FAILING),
        ),
        tile(
            "Worst p99",
            f"max({SLOWEST} and {CALLED})",
            "Of the slowest function. Green with stuck calls beside it: what hangs is in no latency until it returns.",
            unit="s",
            decimals=1,
            thresholds=colours(pack, SLOW),
        ),
        tile(
            "Oldest call",
            f"max({OLDEST})",
            "How long the oldest unfinished call has been under way. Red: a process hangs. No data: no agent reports.",
            unit="s",
            decimals=0,
            thresholds=colours(pack, STUCK),
        ),
        tile(
            "NaN or infinity",
            f"sum(increase({NANS}[5m]))",
            "Answers of the last 5 minutes that hold no numbers. The calls succeed, so nothing else shows it.",
            decimals=0,
        ),
        tile(
            "Embeddings that drift",
            counted(f"{PSI} > {level(pack, DRIFT)} and {LARGE_ENOUGH}", PSI),
            "They no longer look like their reference: other inputs, or other weights. No data: none are watched.",
            thresholds={1: "orange"},
        ),
        tile(
            "Weights changed",
            f"sum({CHANGED})",
            (
                "Changes of a parameter's type in serving processes in the last 5 minutes. Somebody re-quantizes live: "
                "stop it."
            ),
            decimals=0,
        ),
        tile(
            "Kernels slower",
            counted(f"{AGAINST_YESTERDAY} > {level(pack, KERNEL_SLOW)}", KERNELS),
            "Kernels whose p99 is far above that of the day before. Together with heat: the device slows itself down.",
            thresholds={1: "orange"},
        ),
        tile(
            "Calls finished",
            f"sum({CALLING})",
            "In each second. Far below the usual: callers do not get through, or are gone.",
            unit="reqps",
            decimals=1,
            thresholds={None: "text"},
        ),
        tile(
            "Calls under way",
            f"sum({IN_PROGRESS.where(**FUNCTIONS)})",
            "Far above the usual: they pile up behind something slow.",
            thresholds={None: "text"},
        ),
    ]


def _callers(pack: Pack) -> list[Any]:
    return [
        d.state_timeline(
            "Inference endpoints",
            ENDPOINTS,
            legend="{{instance}}",
            description="Red: what a caller sees is nothing. All red at once: the way to them, not they themselves.",
            unit="short",
            values=UP,
            options={"legend": {"showLegend": False}},
            height=6,
            alerts=names(pack, ENDPOINT_DOWN),
        ),
        d.state_timeline(
            "Vector databases",
            VECTORS,
            legend="{{instance}}",
            description=(
                "Red before the functions fail: it is the cause. Red after them: it shares their node or network."
            ),
            unit="short",
            values=UP,
            options={"legend": {"showLegend": False}},
            height=6,
            alerts=names(pack, VECTORS_DOWN),
        ),
        d.timeseries(
            "5xx by ingress",
            REFUSED,
            legend="{{namespace}}/{{ingress}}",
            description=(
                "The share of requests that the ingress answers with 5xx. 502 and 503: nothing healthy stands behind "
                "it. 504: it stands there and hangs. Pages above the line, from one request a second on."
            ),
            unit="percentunit",
            min=0,
            alerts=names(pack, UPSTREAM),
        ),
        d.timeseries(
            "Requests by status",
            f"sum by (status) (rate({INGRESS_REQUESTS.where(**CLUSTERS)}[$__rate_interval]))",
            legend="{{status}}",
            description=(
                "All ingresses chosen. A rise before the errors: load. A fall: callers gave up, or came no further."
            ),
            unit="reqps",
            min=0,
            stack=True,
        ),
    ]


def _latency(pack: Pack) -> list[Any]:
    def quantile(share: float, by: str) -> str:
        return f"histogram_quantile({share}, sum by ({by}, le) (rate({BUCKETS}[$__rate_interval])))"

    return [
        d.timeseries(
            "p99 by function",
            SLOWEST,
            legend=FUNCTION,
            description=(
                "One call in a hundred takes longer. It stands at 120 s: longer than the largest bucket, so it may be "
                "any time. Pages above the line, from one call in 10 seconds on."
            ),
            unit="s",
            min=0,
            alerts=names(pack, SLOW),
        ),
        d.heatmap(
            "Latency of all calls",
            f"sum by (le) (increase({BUCKETS}[$__rate_interval]))",
            description=(
                "A second band above the first: some calls take another way (a node, a long prompt), not all are slow."
            ),
            unit="s",
        ),
        d.timeseries(
            "p50 by function",
            quantile(0.5, "workload, function"),
            legend=FUNCTION,
            description="The usual call. It rises with p99: everything is slow. It stays: only some calls are.",
            unit="s",
            min=0,
            width=8,
        ),
        d.timeseries(
            "p99 by node",
            quantile(0.99, "cluster, node"),
            legend="{{node}}",
            description=(
                "One node above the rest: look at its heat, stalls and memory. All together: load or a new version."
            ),
            links=[to("Nodes and devices", "fleet"), to("GPU stall", "gpu-stall")],
            unit="s",
            min=0,
            width=8,
        ),
        d.timeseries(
            "Calls by function",
            f"sum by (workload, function) (rate({LATENCY.count.where(**FUNCTIONS)}[$__rate_interval]))",
            legend=FUNCTION,
            description=(
                "Finished calls. They rise before latency does: too much load. They fall after it: callers give up."
            ),
            unit="reqps",
            min=0,
            width=8,
        ),
    ]


def _errors(pack: Pack) -> list[Any]:
    return [
        d.timeseries(
            "Failed calls",
            FAILED,
            legend=FUNCTION,
            description=(
                "The share of calls that raise. All functions of a workload: a process or a device. One: its code."
            ),
            unit="percentunit",
            min=0,
            width=8,
            alerts=names(pack, FAILING),
        ),
        d.timeseries(
            "Errors by class",
            f"sum by (workload, class) (rate({INFERENCE_ERRORS.where(**FUNCTIONS)}[$__rate_interval]))",
            legend="{{workload}} {{class}}",
            description=(
                "OutOfMemoryError: see GPU memory. Time-outs: something behind it. ValueError: what callers send."
            ),
            links=[to("GPU memory", "gpu-memory")],
            unit="eps",
            min=0,
            stack=True,
            width=8,
        ),
        d.timeseries(
            "Oldest call under way",
            f"max by (cluster, node, instance, workload, process, function) ({OLDEST})",
            legend=f"{FUNCTION}, {{{{process}}}} on {{{{node}}}}",
            description=(
                "A slope of one second a second is a call that does not return: that process hangs, and only a restart "
                "frees it. Several at once: they wait for each other, or for the same thing."
            ),
            unit="s",
            min=0,
            width=8,
            alerts=names(pack, STUCK),
        ),
        d.timeseries(
            "Calls under way by function",
            f"sum by (workload, function) ({IN_PROGRESS.where(**FUNCTIONS)})",
            legend=FUNCTION,
            description=(
                "It grows without end: more comes in than goes out. Flat at a round number: all workers are busy."
            ),
            unit="short",
            min=0,
            width=24,
            height=6,
        ),
    ]


def _answers(pack: Pack) -> list[Any]:
    embedding = "{{workload}} {{embedding}} on {{node}} {{process}}"
    return [
        d.timeseries(
            "Answers with NaN or infinity in 5 minutes",
            events(f"increase({NANS}[5m])", NANS, f"{FUNCTION} on {{{{node}}}}"),
            description=(
                "One node: its device or its copy of the weights. All at once: the weights or a new version. Take it "
                "out."
            ),
            unit="short",
            min=0,
            decimals=0,
            width=6,
            custom=BARS,
            alerts=names(pack, GARBAGE),
        ),
        d.timeseries(
            "Tensors with NaN or infinity",
            events(
                f"increase({NAN_TENSORS}[$__rate_interval])",
                NAN_TENSORS,
                "{{workload}} rank {{rank}} {{tensor}} on {{node}}",
            ),
            description=(
                "What the program itself has looked at, such as its loss. One rank first: its data or its device. All "
                "at once: the learning rate, the weights or the code."
            ),
            unit="short",
            min=0,
            decimals=0,
            width=6,
            custom=BARS,
        ),
        d.timeseries(
            "Drift of embeddings",
            PSI,
            legend=embedding,
            description=(
                "Population stability index against the saved reference: under 0.1 none, above the line a real shift. "
                "A step: new weights or a new tokenizer. A slope: the inputs change, so make a new reference."
            ),
            unit="short",
            min=0,
            width=6,
            alerts=names(pack, DRIFT),
        ),
        d.timeseries(
            "Likeness to the reference",
            EMBEDDING_COSINE.where(**WORKLOADS),
            legend=embedding,
            description="Cosine between the mean embedding and the reference's. Near 1 is fine. Near 0: another model.",
            unit="percentunit",
            max=1,
            width=6,
        ),
        d.table(
            "Embeddings now",
            [
                f"max by (workload, embedding, node, process) ({PSI})",
                f"min by (workload, embedding, node, process) ({EMBEDDING_COSINE.where(**WORKLOADS)})",
                f"max by (workload, embedding, node, process) ({EMBEDDING_NORM.where(**WORKLOADS)})",
                f"max by (workload, embedding, node, process) ({SAMPLES})",
            ],
            description=(
                "The most drifted first. With fewer than 1,000 in the window the index means nothing yet. Norm is 1 "
                "where it is the reference's."
            ),
            columns={
                "workload": "Workload",
                "embedding": "Embedding",
                "node": "Node",
                "process": "Process",
                "Value #A": "Drift",
                "Value #B": "Likeness",
                "Value #C": "Norm",
                "Value #D": "In the window",
            },
            units={"Drift": "short", "Likeness": "percentunit", "Norm": "short", "In the window": "short"},
            sort_by="-Drift",
            height=6,
        ),
    ]


def _weights(pack: Pack) -> list[Any]:
    return [
        d.timeseries(
            "Changes of type in 5 minutes",
            events(f"({CHANGED})", READY.where(**WORKLOADS), PROCESS),
            description=(
                "Parameters of a serving process that became another type: a script re-quantizes live. Stop it first."
            ),
            unit="short",
            min=0,
            decimals=0,
            width=8,
            custom=BARS,
            alerts=names(pack, WEIGHTS_CHANGED),
        ),
        d.timeseries(
            "Weights by type",
            f"sum by (workload, dtype) ({PARAMETER_BYTES.where(**WORKLOADS)})",
            legend="{{workload}} {{dtype}}",
            description="Flat but for deployments. One type shrinks while another grows: they are being converted.",
            unit="bytes",
            min=0,
            stack=True,
            width=8,
        ),
        d.timeseries(
            "Calls that left more memory in use",
            f"sum by (workload, function) (rate({MEMORY_JUMPS.where(**FUNCTIONS)}[$__rate_interval]))",
            legend=FUNCTION,
            description="Calls after which allocated memory was a tenth higher. Steadily: it leaks, see GPU memory.",
            links=[to("GPU memory", "gpu-memory")],
            unit="cps",
            min=0,
            width=8,
        ),
    ]


def _kernels(pack: Pack) -> list[Any]:
    kernel = "{{workload}} {{kernel}}"
    return [
        d.timeseries(
            "p99 against yesterday",
            AGAINST_YESTERDAY,
            legend=kernel,
            description=(
                "How many times slower than on the day before. All kernels together: heat or a power limit. One: "
                "another version of it, or another shape of input. No data on the first day of a workload."
            ),
            links=[to("Heat of the devices", "fleet")],
            unit="suffix: times",
            min=0,
            decimals=1,
            alerts=names(pack, KERNEL_SLOW),
        ),
        d.timeseries(
            "p99 of kernels",
            KERNELS,
            legend=kernel,
            description="Without NCCL, which spins while it waits for other ranks. Only sampled steps are measured.",
            unit="s",
            min=0,
            custom={"scaleDistribution": {"type": "log", "log": 10}},
        ),
    ]

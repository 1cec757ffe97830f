"""Serving: what callers see, and what a robot or a prober sees."""

from watchkeeper_fleet.alerts.serving import ENDPOINT_DOWN, UPSTREAM, VECTORS_DOWN
from watchkeeper_fleet.metrics.external import INGRESS_REQUESTS, PROBE_SUCCESS

INGRESS = {
    "job": "ingress-nginx",
    "instance": "i1",
    "node": "n9",
    "cluster": "c1",
    "namespace": "ai",
    "ingress": "chat",
}
PROBE = {"cluster": "c1", "node": "n9"}


def requests(good, bad):
    return {INGRESS_REQUESTS.where(status="200"): good, INGRESS_REQUESTS.where(status="502"): bad}


def test_bad_gateways(pack):
    run = pack.run(requests("0+60x20 1200x20", "0x20 0+60x20"), labels=INGRESS)
    run.fires(UPSTREAM, by="6m45s", summary="of the requests to ai/chat fail")
    run.silent(UPSTREAM, until="6m")


def test_a_robot_on_a_path_that_is_broken(pack):
    # All of its requests fail, and it is one request in 15 seconds.
    pack.run(requests("0x60", "0+1x60"), labels=INGRESS).silent(UPSTREAM)


def test_a_few_failures_among_many(pack):
    pack.run(requests("0+970x60", "0+30x60"), labels=INGRESS).silent(UPSTREAM)


def test_requests_that_clients_got_wrong(pack):
    bad = {INGRESS_REQUESTS.where(status="404"): "0+300x60", INGRESS_REQUESTS.where(status="200"): "0+300x60"}
    pack.run(bad, labels=INGRESS).silent(UPSTREAM)


def test_an_endpoint_that_does_not_answer(pack):
    probe = {PROBE_SUCCESS.where(job="blackbox-inference", instance="https://chat"): "1x10 0x20"}
    pack.run(probe, labels=PROBE).fires(ENDPOINT_DOWN, first="3m45s", summary="https://chat does not answer", count=1)


def test_a_probe_that_fails_once(pack):
    probe = {PROBE_SUCCESS.where(job="blackbox-inference", instance="https://chat"): "1x10 0x2 1x20"}
    pack.run(probe, labels=PROBE).silent(ENDPOINT_DOWN)


def test_a_vector_database_that_does_not_answer(pack):
    probe = {PROBE_SUCCESS.where(job="blackbox-vector-database", instance="vectors:19530"): "1x10 0x20"}
    run = pack.run(probe, labels=PROBE)
    run.fires(VECTORS_DOWN, first="3m45s", summary="Vector database vectors:19530 does not answer")
    run.silent(ENDPOINT_DOWN)


def test_an_endpoint_is_no_vector_database(pack):
    probe = {
        PROBE_SUCCESS.where(job="blackbox-inference", instance="https://chat"): "0x30",
        PROBE_SUCCESS.where(job="blackbox-vector-database", instance="vectors:19530"): "1x30",
    }
    pack.run(probe, labels=PROBE).silent(VECTORS_DOWN)

"""Small worlds for the soundness test: a random contract, rules that record, and series that keep to it."""

from random import Random

from watchkeeper.contract import Counter, Gauge, Histogram
from watchkeeper.engine import Data, Engine, EvalError, Series
from watchkeeper.promql import ParseError, parse
from watchkeeper.proof.catalogue import Catalogue

LABELS = ("gpu", "node", "mode", "extra")
VALUES = ("a", "b", "c")
TARGET = ("job", "instance")
OPEN = ("alpha", "beta", "target_info")
BOUNDS = ("0.5", "1", "+Inf")
NATIVE = "{{schema:0 sum:5 count:4 buckets:[1 2 1]}}"
STEP = 30_000
TIMES = range(0, 601_000, STEP)
AT = 600.0


class World:
    """A contract, and data that keeps it. `metrics` are the names that expressions may use, by what they are."""

    def __init__(self, random: Random, expressions) -> None:
        self.random = random
        self.data = Data()
        metrics = []
        for index in range(3):
            labels = tuple(random.sample(LABELS, random.randint(0, 3)))
            metrics.append(random.choice((Gauge, Counter))(f"metric{index}", "Of the contract.", labels=labels))
        labels = tuple(random.sample(LABELS, 1))
        metrics.append(Histogram("latency", "Of the contract.", labels=labels, buckets=(0.5, 1)))
        for metric in metrics:
            for name, labels in metric.series().items():
                self._contract_series(name, labels)
        for name in OPEN:
            self._open_series(name)
        self._native()
        self.names = ("metric0", "metric0", "metric1", "metric1", "metric2", *OPEN[:2], "latency_sum")
        recordings = []
        for index in range(2):
            name = random.choice(("recorded:0", "recorded:1", "metric0")) if index else "recorded:0"
            own = {}
            if random.random() < 0.5:
                own[random.choice((*LABELS, *TARGET))] = random.choice(("", "x"))
            for _ in range(random.choice((1, 1, 2))):
                text = expressions(random, self.names).vector(2)
                if self._record(name, text, own):
                    recordings.append((name, text, own))
            self.names = (*self.names, name)
        self.catalogue = Catalogue(metrics, TARGET, recordings, closed=random.random() < 0.5)

    def _contract_series(self, name: str, labels: tuple[str, ...]) -> None:
        random = self.random
        for _ in range(random.choice((1, 2, 3, 4))):
            found = {"__name__": name, "job": random.choice(VALUES[:2]), "instance": random.choice(VALUES)}
            found |= {label: random.choice(VALUES[:2]) for label in labels if label != "le"}
            for bound in BOUNDS if "le" in labels else ("",):
                self._series({**found, "le": bound})

    def _open_series(self, name: str) -> None:
        random = self.random
        for _ in range(random.choice((1, 2, 3))):
            if name != "target_info" and random.random() < 0.6:  # fit to be matched with another series
                self._series({**dict(random.choice(self.data.series).labels), "__name__": name})
                continue
            some = random.sample((*LABELS, *TARGET, *TARGET, "__type__"), random.randint(0, 5))
            if name == "target_info":
                some = [*TARGET, "extra", *some[:1]]
            self._series({"__name__": name, **{label: random.choice(VALUES[:2]) for label in some}})

    def _native(self) -> None:
        lines = [f'native{{gpu="a"}} {NATIVE}x20', f'native{{gpu="b",le="1"}} {NATIVE}x20']
        for series in Data.load("\n".join(lines), "30s").series:
            self.data.add(series)

    def _series(self, labels: dict[str, str]) -> None:
        random = self.random
        times = [time for time in TIMES if random.random() < 0.95]
        base = random.randint(0, 3)
        rising = labels["__name__"].startswith("latency") or random.random() < 0.3
        values = [float(base + index if rising else random.randint(0, 3)) for index, _ in enumerate(times)]
        self.data.add(Series(labels, times, values))

    def _record(self, name: str, text: str, own: dict[str, str]) -> bool:
        """Record as a rule does, so that what the catalogue says of it is true; nothing where the rule would fail."""
        try:
            rows = Engine().range(self.data, parse(text), 0, AT, STEP / 1000).series
        except (EvalError, ParseError):
            return False
        for labels, times, values in rows:
            made = {label: value for label, value in {**dict(labels), "__name__": name, **own}.items() if value}
            if any(label == "" for label in made):
                return False
            self.data.add(Series(made, times, values))
        return True

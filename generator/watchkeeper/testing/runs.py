"""What can be asserted of a run. Every assertion raises by itself."""

from __future__ import annotations

from watchkeeper.engine.labels import NAME
from watchkeeper.testing import ledger, times, wanted
from watchkeeper.testing.evaluated import AlertFailure, Evaluated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import NoReturn

    from watchkeeper.model import Alert
    from watchkeeper.ruler.history import AlertSeries, History
    from watchkeeper.testing.routing import Fired
    from watchkeeper.testing.times import Time
    from watchkeeper.testing.wanted import Wanted

__all__ = ["AlertFailure", "Run"]


class Run(Evaluated):
    """Rules on series over time. Only the rules that an assertion needs are evaluated, when it needs them.

    Times in assertions are durations from the first evaluation ("4m"), seconds from it, or aware datetimes.
    `asserted` says whether anything was asserted yet; pytest's plugin fails a test whose run has it not.
    """

    __slots__ = ()

    def fires(
        self,
        alert: Alert | str,
        *,
        first: Time | None = None,
        by: Time | None = None,
        at: Time | None = None,
        labels: Mapping[str, Wanted] | None = None,
        summary: Wanted | None = None,
        description: Wanted | None = None,
        annotations: Mapping[str, Wanted] | None = None,
        count: int | None = None,
        exact: bool = False,
    ) -> Fired:
        """Assert that an alert fires, and return the first that does as asked; `routes_to` asks it who is told.

        `first` is the time of the first evaluation at which one fires, `by` the latest that this may be; `at` a time at
        which one fires. `labels` are among its labels; `summary`, `description` and `annotations` are in its texts, at
        the time that it first fires or at `at`; a compiled pattern is searched for. With `exact` the labels (all but
        alertname) and the texts are that to the letter. `count` is how many alerts of the name with such labels fire.
        """
        __tracebackhide__ = True
        self.asserted = True
        rules = self.bench.rules(alert)
        history = self._sound(rules[0].name)
        asked = {name: text for name, text in (("summary", summary), ("description", description)) if text is not None}
        asked.update(annotations or {})
        found = self._with_labels(history, rules[0].name, labels, exact=exact)
        firing = sorted((one for one in found if one.firing), key=_since)
        at_ms = None if at is None else self._inside(at, "at")
        if not firing:
            self._fail(rules[0].name, "does not fire", labels)
        if count is not None and len(firing) != count:
            which = ", ".join(wanted.braces(one.labels) for one in firing)
            self._fail(rules[0].name, f"{len(firing)} fire, not {count}: {which}", labels)
        since = round(_since(firing[0]) * 1000)
        self._check_since(rules[0].name, since, first, by, labels)
        if at_ms is not None:
            firing = [one for one in firing if one.state_at(at_ms / 1000) == "firing"]
            if not firing:
                self._fail(rules[0].name, f"does not fire at {self.told(at_ms)}", labels)
        chosen = self._with_texts(rules[0].name, firing, asked, at_ms, exact)
        for rule in rules:
            ledger.note_shown(ledger.FIRES, rule)
        from watchkeeper.testing.routing import Fired

        return Fired(chosen, self.bench)

    def silent(
        self,
        alert: Alert | str,
        *,
        until: Time | None = None,
        after: Time | None = None,
        labels: Mapping[str, Wanted] | None = None,
        without_data: bool = False,
    ) -> None:
        """Assert that an alert does not fire: not before `until`, and not from `after` on. Pending is silent.

        An alert for none of whose metrics there is a series is silent for want of data, which shows nothing and is a
        failure, unless `without_data` says that just this is the case.
        """
        __tracebackhide__ = True
        self.asserted = True
        rules = self.bench.rules(alert)
        name = rules[0].name
        history = self._sound(name)
        low, high = self._window(after, until)
        for one in self._with_labels(history, name, labels, exact=False):
            for first, last in one.firing:
                if round(first * 1000) < high and round(last * 1000) >= low:
                    from_, to = max(low, round(first * 1000)), min(high - 1, round(last * 1000))
                    self._fail(name, f"fires, from {self.told(from_)} to {self.told(to)}", labels)
        if not without_data:
            self._has_data(name)
        for rule in rules:
            ledger.note_shown(ledger.SILENT, rule)

    def resolves(
        self,
        alert: Alert | str,
        *,
        at: Time | None = None,
        by: Time | None = None,
        labels: Mapping[str, Wanted] | None = None,
    ) -> None:
        """Assert that an alert fires and stops: at the evaluation `at`, or `by` a time, or at any rate by the end.

        Of several alerts of the name, it is the time at which none fires any more.
        """
        __tracebackhide__ = True
        self.asserted = True
        name = self.bench.rules(alert)[0].name
        history = self._sound(name)
        found = self._with_labels(history, name, labels, exact=False)
        firing = [any(one.state(index) == "firing" for one in found) for index in range(len(history.clock))]
        if True not in firing:
            self._fail(name, "does not fire, so it can't resolve", labels)
        ends = [
            history.clock.times[index]
            for index in range(1, len(firing))
            if firing[index - 1] and not firing[index]
        ]  # fmt: skip
        if not ends:
            self._fail(name, "still fires at the end of the run", labels)
        at_ms = None if at is None else self._inside(at, "at")
        if at_ms is not None and at_ms not in ends:
            self._fail(name, f"resolves at {', '.join(map(self.told, ends))}, not at {self.told(at_ms)}", labels)
        latest = None if by is None else times.moment(by, self.start, "by")
        if latest is not None and ends[0] > latest:
            self._fail(name, f"resolves at {self.told(ends[0])}, not by {self.told(latest)}", labels)
        if at is None and by is None and firing[-1]:
            self._fail(name, "fires again at the end of the run", labels)

    def pending(
        self,
        alert: Alert | str,
        *,
        first: Time | None = None,
        by: Time | None = None,
        at: Time | None = None,
        labels: Mapping[str, Wanted] | None = None,
    ) -> AlertSeries:
        """Assert that an alert waits for its `for`; `first`, `by` and `at` are as in `fires`."""
        __tracebackhide__ = True
        self.asserted = True
        name = self.bench.rules(alert)[0].name
        history = self._sound(name)
        found = [one for one in self._with_labels(history, name, labels, exact=False) if one.pending]
        found.sort(key=_waiting)
        if not found:
            self._fail(name, "is never pending", labels)
        self._check_since(name, round(_waiting(found[0]) * 1000), first, by, labels, "is first pending")
        if at is not None:
            at_ms = self._inside(at, "at")
            found = [one for one in found if one.state_at(at_ms / 1000) == "pending"]
            if not found:
                self._fail(name, f"is not pending at {self.told(at_ms)}", labels)
        return found[0]

    def nothing_fires(
        self,
        *,
        labels: Mapping[str, Wanted] | None = None,
        until: Time | None = None,
        after: Time | None = None,
        but: Collection[Alert | str] = (),
    ) -> None:
        """Assert that no alert with these labels fires, as `{"severity": "critical"}`, but those named in `but`."""
        __tracebackhide__ = True
        self.asserted = True
        spared = {self.bench.rules(alert)[0].name for alert in but}
        found = [one for one in self.firing(labels=labels, until=until, after=after) if one[1] not in spared]
        if found:
            lines = [f"{self.told(since)}  {name} {wanted.braces(one.labels)}" for since, name, one in found]
            first = [*dict.fromkeys(name for _, name, _ in found)]
            self._fail(first[0], "fires\n  " + "\n  ".join(lines), labels)

    def firing(
        self,
        *,
        labels: Mapping[str, Wanted] | None = None,
        until: Time | None = None,
        after: Time | None = None,
    ) -> list[tuple[int, str, AlertSeries]]:
        """All that fires between `after` and `until`, in order: since when (ms, in that window), name, alert.

        To ask counts as to assert.
        """
        self.asserted = True
        history = self._sound(None)
        low, high = self._window(after, until)
        found = []
        for place, name in enumerate(history.names):
            for one in self._with_labels(history, name, labels, exact=False):
                for first, last in one.firing:
                    if round(first * 1000) < high and round(last * 1000) >= low:
                        found.append((max(low, round(first * 1000)), place, one.key, name, one))
                        break
        return [(since, name, one) for since, _, _, name, one in sorted(found, key=lambda item: item[:3])]

    def timeline(self, alert: Alert | str, labels: Mapping[str, Wanted] | None = None) -> str:
        """The text that a failure shows: values against the threshold, pending and firing over time."""
        from watchkeeper.testing.timeline import timeline

        name = self.bench.rules(alert)[0].name
        return "\n".join(timeline(self, self.history_of(name), name, labels or {}))

    def _with_labels(
        self, history: History, name: str, labels: Mapping[str, Wanted] | None, *, exact: bool
    ) -> list[AlertSeries]:
        found = history.alerts(name)
        if labels is None:
            return found
        if exact:
            every = {"alertname": name, **labels}
            return [one for one in found if one.labels.keys() == every.keys() and wanted.labels_are(every, one.labels)]
        return [one for one in found if wanted.labels_are(labels, one.labels)]

    def _check_since(  # noqa: PLR0917 - of this class
        self,
        name: str,
        since: int,
        first: Time | None,
        by: Time | None,
        labels: Mapping[str, Wanted] | None,
        what: str = "first fires",
    ) -> None:
        __tracebackhide__ = True
        if first is not None and since != self._inside(first, "first"):
            self._fail(name, f"{what} at {self.told(since)}, not at {self.told(self._inside(first, 'first'))}", labels)
        latest = None if by is None else times.moment(by, self.start, "by")
        if latest is not None and since > latest:
            self._fail(name, f"{what} at {self.told(since)}, not by {self.told(latest)}", labels)

    def _with_texts(
        self, name: str, firing: list[AlertSeries], asked: Mapping[str, Wanted], at: int | None, exact: bool
    ) -> AlertSeries:
        __tracebackhide__ = True
        if not asked:
            return firing[0]
        told = []
        for one in firing:
            given = one.annotations_at(_since(one) if at is None else at / 1000)
            wrong = [
                key for key, text in asked.items() if not wanted.text_is(text, given.get(key, ""), exact=exact)
            ]  # fmt: skip
            if not wrong:
                return one
            told += [
                line
                for key in wrong
                for line in (
                    f"{key}: {given.get(key, 'there is none')}",
                    f"{' ' * len(key)}  {wanted.told(asked[key])} is {'wanted' if exact else 'not in it'}",
                )
            ]
        raise AlertFailure(f"{name} fires, with another text\n  " + "\n  ".join(told))

    def _has_data(self, name: str) -> None:
        __tracebackhide__ = True
        from watchkeeper.testing.explain import leaves

        selectors = [one for rule in self.bench.rules(name) for one in leaves(self.bench, rule)]
        # By name alone where there is one: that a matcher leaves series out may be just what is tested.
        if selectors and not any(
            self.data.select(found[:1] if found[0].label == NAME else found) for _, found in selectors
        ):
            texts = ", ".join(dict.fromkeys(text for text, _ in selectors))
            have = ", ".join(sorted({dict(one.labels).get(NAME, "") for one in self.data.series}))
            raise AlertFailure(
                f"{name} is silent for want of data: no series matches {texts}\n"
                f"  there are series of: {have or 'none'}\n"
                "  silent(..., without_data=True) where that is what the test is about"
            )

    def _fail(self, name: str, what: str, labels: Mapping[str, Wanted] | None) -> NoReturn:
        __tracebackhide__ = True
        from watchkeeper.testing.explain import reasons
        from watchkeeper.testing.timeline import timeline

        history = self.history_of(name)
        some = f" with {wanted.braces(labels)}" if labels else ""
        lines = [f"{name}{some} {what}"]
        lines += [f"  {line}" for line in reasons(self, history, name, labels or {})]
        lines += timeline(self, history, name, labels or {})
        raise AlertFailure("\n".join(lines))


def _name(alert: Alert | str) -> str:
    return alert if isinstance(alert, str) else alert.name


def _since(one: AlertSeries) -> float:
    return one.firing[0][0]


def _waiting(one: AlertSeries) -> float:
    return one.pending[0][0]

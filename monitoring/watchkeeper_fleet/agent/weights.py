"""`agent.watch_weights`: the size of a model's parameters by type, and whether types change under a running model.

Only what Python knows of a tensor is looked at, never its values, so the device sees nothing of it. It is looked at
between steps, on their own thread: within one, FSDP and others put tensors of other types in the parameters' places.
"""

from __future__ import annotations

import os
import weakref
from _thread import allocate_lock
from time import monotonic, perf_counter

from watchkeeper_fleet.agent import lifecycle
from watchkeeper_fleet.agent.boundaries import END
from watchkeeper_fleet.agent.registry import REGISTRY, Registry
from watchkeeper_fleet.agent.steps import METER
from watchkeeper_fleet.metrics.agent import DTYPE_CHANGES, PARAMETER_BYTES

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from typing import Any

MOST_MODELS = 16
SHARE = 0.002  # of the time, at most; to look at 1,000 parameters takes 3 ms
_DEEPEST = 4  # tensors that are made of tensors

# Of torch's own quantized layers: no tensors, and how large they are they do not tell.
PACKED = ("_packed_params", "_packed_weight", "param")
# What adapters and buffers of a model in floats are not of.
QUANTIZED = ("int8", "uint8", "qint", "quint", "int4", "uint4", "float8", "float4", "packed")

_PLAIN: set[type] = set()  # kinds of tensors that are made of none, parameters among them
_NAMES: dict[Any, str] = {}  # of types

# By the module's path: the type of each of its tensors by name, whether it is a parameter, and whether it is a shard.
Types = dict[str, dict[str, tuple[str, bool, bool]]]


class Model:
    """A model that is watched, for as long as the program keeps it."""

    __slots__ = ("_changing", "_types", "due", "every", "of", "sizes")

    def __init__(self, model: Any, every: float) -> None:
        self.of = weakref.ref(model)
        self.every = max(1.0, float(every))  # in this order not a number is 1
        self.due = 0.0
        self._changing = False
        self._types, self.sizes = described(model)

    def look(self, model: Any) -> bool:
        """Look again; return whether a change has begun. One that is still under way at the next look is the same."""
        types, self.sizes = described(model)
        changing = types != self._types and changed(self._types, types)
        begun = changing and not self._changing
        self._types, self._changing = types, changing
        return begun


class Weights:
    """The models of this process."""

    __slots__ = ("_due", "_looking", "_models", "_names", "_registry")

    def __init__(self, registry: Registry = REGISTRY) -> None:
        self._registry = registry
        self._models: list[Model] = []
        self._names: set[str] = set()
        self._due = 0.0
        self._looking = allocate_lock()  # only ever tried: two threads that look at once would count a change twice

    def add(self, model: Any, every: float) -> None:
        """Watch a model; nothing where it is watched already, or where there are too many."""
        self._models = [one for one in self._models if one.of() is not None and one.of() is not model]
        if len(self._models) < MOST_MODELS:
            self._models = [*self._models, Model(model, every)]
        self._registry.counter(DTYPE_CHANGES)
        self._due = 0.0
        self._publish()

    def between_steps(self) -> None:
        """Look at the models whose time has come, unless another step is under way in this thread."""
        now = monotonic()
        if now < self._due or not lifecycle.STATE.on or METER.within_a_step():
            return
        if self._looking.acquire(blocking=False):
            try:
                self._look(now)
            finally:
                self._looking.release()

    def _look(self, now: float) -> None:
        for watched in self._models:
            model = watched.of()
            if model is not None and now >= watched.due:
                begun = perf_counter()
                try:
                    if watched.look(model):
                        self._registry.counter(DTYPE_CHANGES).add(1.0)
                except Exception:  # noqa: BLE001 - a model that can't be looked at leaves the others
                    self._registry.faults += 1
                watched.due = now + max(watched.every, (perf_counter() - begun) / SHARE)
        self._models = [one for one in self._models if one.of() is not None]
        self._due = min((one.due for one in self._models), default=now + 1.0)
        self._publish()

    def forked(self) -> None:
        """Begin anew in a child, whose parent may have been looking."""
        self._looking = allocate_lock()

    def _publish(self) -> None:
        sums = dict.fromkeys(self._names, 0.0)
        for watched in self._models:
            for name, size in watched.sizes.items():
                sums[name] = sums.get(name, 0.0) + size
        self._names.update(sums)
        for name, size in sums.items():
            self._registry.gauge(PARAMETER_BYTES, dtype=name).set(size)


def described(model: Any) -> tuple[Types, dict[str, float]]:
    """Return the types of a model's parameters and buffers by place, and the bytes of the parameters by type."""
    types: Types = {}
    sizes: dict[str, float] = {}
    seen: set[int] = set()
    todo = [("", model)]
    for path, module in todo:  # there come more meanwhile
        if id(module) in seen:
            continue
        seen.add(id(module))
        own = {}
        # Lists, since another thread may change what named_modules() and its like would go over.
        parameters, buffers, inside = module._parameters, module._buffers, module._modules  # noqa: SLF001 - as said
        for is_parameter, tensors in ((True, parameters), (False, buffers)):
            for name, tensor in list(tensors.items()):
                if tensor is None:
                    continue
                parts = _parts(tensor)
                kind = parts[0][0] if len(parts) == 1 else "+".join(sorted({kind for kind, _ in parts}))
                own[name] = (kind, is_parameter, hasattr(tensor, "_local_tensor"))
                if is_parameter and id(tensor) not in seen:
                    seen.add(id(tensor))
                    for one, size in parts:
                        sizes[one] = sizes.get(one, 0.0) + size
        for name in PACKED:
            if module.__dict__.get(name) is not None:
                own[name] = (_name(getattr(module, "dtype", "packed")), False, False)
        if own:
            types[path] = own
        todo += [(f"{path}.{name}", part) for name, part in list(inside.items()) if part is not None]
    return types, sizes


def _parts(tensor: Any, depth: int = 0) -> list[tuple[str, int]]:
    """Return the type and the bytes of a tensor, or of those that it is made of: a quantized one claims to be a float.

    Of one that is sharded they are those of the local part.
    """
    if type(tensor) not in _PLAIN and depth < _DEEPEST:
        if hasattr(tensor, "_local_tensor"):
            return _parts(tensor._local_tensor, depth + 1)  # noqa: SLF001 - to_local() is an operation for gradients
        flatten = getattr(tensor, "__tensor_flatten__", None)
        if flatten is not None:
            inside = [getattr(tensor, name) for name in flatten()[0]]
            return [part for one in inside if hasattr(one, "dtype") for part in _parts(one, depth + 1)]
        _PLAIN.add(type(tensor))
    name = _name(tensor.dtype)
    try:
        return [(name, tensor.numel() * tensor.element_size())]
    except (ValueError, RuntimeError):  # one that is made when the model is first called, or whose size is not known
        return [(name, 0)]


def _name(kind: Any) -> str:
    name = _NAMES.get(kind)
    if name is None:
        name = _NAMES[kind] = str(kind).removeprefix("torch.")
    return name


def changed(old: Types, new: Types) -> bool:
    """Whether a parameter has another type than before, or made room for tensors of another type in its module."""
    fresh = [path for path in new if path not in old]
    quantized = any(_quantized(kind) for path in fresh for kind, _, _ in new[path].values())
    for path, before in old.items():
        after = new.get(path, {})
        if after == before:
            continue
        for name, (kind, is_parameter, sharded) in before.items():
            now, is_now, sharded_now = after.get(name, (kind, False, sharded))
            # A shard that is whole for a while has the type that it is used in.
            if now != kind and (is_parameter or is_now) and sharded == sharded_now:
                return True
        lost = {kind for name, (kind, is_parameter, _) in before.items() if is_parameter and name not in after}
        if lost:
            # A quantized layer in place of another: no `weight` any more, but buffers such as `qweight` and `scales`.
            here = {kind for name, (kind, _, _) in after.items() if name not in before}
            # Or a part of it that holds them. Where an adapter is put around the layer, the layer itself is that part.
            inside = [new[other].values() for other in fresh if other.startswith(f"{path}.")]
            below = {kind for tensors in inside for kind, _, _ in tensors}
            if here - lost or (below and not below & lost):
                return True
            # Or of what the module was a part of, where that has been replaced as a whole.
            if quantized and path not in new and not inside and any(map(_quantized, _around(path, new, fresh) - lost)):
                return True
    return False


def _around(path: str, new: Types, fresh: list[str]) -> set[str]:
    """Return the types of what is fresh in the nearest part of the model that a module was in."""
    while path:
        path = path.rpartition(".")[0]
        found = {kind for one in fresh if one.startswith(f"{path}.") for kind, _, _ in new[one].values()}
        if found:
            return found
    return set()


def _quantized(kind: str) -> bool:
    return any(part.startswith(QUANTIZED) for part in kind.split("+"))


WEIGHTS = Weights()
os.register_at_fork(after_in_child=WEIGHTS.forked)


def watch_weights(model: Any, every: float = 1.0) -> None:
    """Watch the types of a model's parameters between steps, at most every so many seconds. It is not kept alive by it.

    Call it when the model has the types that it is to have. How large the parameters are by type is told, and a change
    of types is counted once, however many parameters it is of.
    """
    try:
        lifecycle.first_use()
        WEIGHTS.add(model, every)
        if WEIGHTS.between_steps not in END:
            END.append(WEIGHTS.between_steps)
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        REGISTRY.faults += 1

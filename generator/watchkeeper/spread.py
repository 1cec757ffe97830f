"""Work spread over the processor's cores, by forked children that share what was loaded before."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from watchkeeper.cache import Recorder

Item = TypeVar("Item")
Result = TypeVar("Result")

# Below this many items, starting children costs more than it saves.
FEW = 100
_CHUNK = 8

# What the children run: set before they are forked, since neither a closure nor a definition can be pickled.
_work: tuple[Callable[[Any], Any], Sequence[Any], Recorder] | None = None


class ChildDied(Exception):  # noqa: N818 - it is what happened
    """A child ended while it worked, by os._exit in a definition, or for want of memory."""


def spread(function: Callable[[Item], Result], items: Sequence[Item], recorder: Recorder) -> Iterator[Result]:
    """Yield function(item) for each item, in order. What children read is noted in the recorder.

    Raises:
        ChildDied: a child ended before its work was done.
    """
    global _work  # noqa: PLW0603 - how a forked child gets what can't be pickled
    cores = len(os.sched_getaffinity(0))
    if cores == 1 or len(items) < FEW:
        yield from map(function, items)
        return
    _work = (function, items, recorder)
    try:
        with ProcessPoolExecutor(cores, mp_context=get_context("fork")) as pool:
            for result, files, folders in pool.map(_do, range(len(items)), chunksize=_CHUNK):
                recorder.files |= files
                recorder.folders |= folders
                yield result
    except BrokenProcessPool as error:
        raise ChildDied("a process that made dashboards ended before it was done") from error
    finally:
        _work = None


def _do(number: int) -> tuple[Any, set[str], set[str]]:
    assert _work
    function, items, recorder = _work
    files, folders = set(recorder.files), set(recorder.folders)
    result = function(items[number])
    return result, recorder.files - files, recorder.folders - folders

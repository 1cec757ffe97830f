"""Work spread over the processor's cores, by forked children that share what was loaded before."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from watchkeeper.cache import News, Recorder

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
    pool = ProcessPoolExecutor(cores, mp_context=get_context("fork"), initializer=_begin)
    try:
        recorder.forking = True
        results = pool.map(_do, range(len(items)), chunksize=_CHUNK)
        recorder.forking = False
        for result, news in results:
            recorder.add(news)
            yield result
    except BrokenProcessPool as error:
        raise ChildDied("a process that made dashboards ended before it was done") from error
    except BaseException:  # an interruption, or the caller wants no more: what is under way is of no use
        for child in active_children():
            child.terminate()
        raise
    finally:
        recorder.forking = False
        pool.shutdown(cancel_futures=True)
        _work = None


def _begin() -> None:
    """Start a child: an interruption from the keyboard ends it without a word, since the parent says it."""
    assert _work
    _work[2].forking = False
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _do(number: int) -> tuple[Any, News]:
    assert _work
    function, items, recorder = _work
    files, folders = len(recorder.files), len(recorder.folders)
    result = function(items[number])
    return result, recorder.news(files, folders)

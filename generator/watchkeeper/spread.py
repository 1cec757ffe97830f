"""Work spread over the processor's cores, by forked children that share what was loaded before."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from watchkeeper.cache import Recorder

Item = TypeVar("Item")
Result = TypeVar("Result")

# Below this many items, starting children costs more than it saves.
FEW = 100
# A child takes this many items at a time, or more where there are very many: a pipe hands them out, and holds 64 KiB.
_CHUNK = 8
_CHUNKS = 4096
_NUMBER = 8  # bytes of an item's number in that pipe


class ChildDied(Exception):  # noqa: N818 - it is what happened
    """A child ended while it worked, by os._exit in a definition, or for want of memory."""


def spread(
    function: Callable[[Item], Result], items: Sequence[Item], recorder: Recorder | None = None
) -> Iterator[Result]:
    """Yield function(item) for each item, in order. What children read is noted in the recorder, if there is one.

    No thread, unlike concurrent.futures, whose locks an interruption from the keyboard finds half taken.

    Raises:
        ChildDied: a child ended before its work was done.
    """
    cores = len(os.sched_getaffinity(0))
    if cores == 1 or len(items) < FEW:
        yield from map(function, items)
        return
    from multiprocessing import get_context  # slow to load, and most have few items

    chunk = max(_CHUNK, -(-len(items) // _CHUNKS))
    starts = range(0, len(items), chunk)
    queue, feed = os.pipe()
    os.write(feed, b"".join(start.to_bytes(_NUMBER, "little") for start in starts))
    os.close(feed)

    def work(results: Connection) -> None:
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # a shell ignores it for what runs in the background
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends without a word, since the parent says it
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _forking(recorder, now=False)
        while number := os.read(queue, _NUMBER):  # each number to one child: these reads are atomic
            start = int.from_bytes(number, "little")
            results.send_bytes(_do(function, items[start : start + chunk], start, recorder))

    children = []
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # till the children know what to do about it
    try:
        _forking(recorder, now=True)
        for _ in range(cores):
            ours, theirs = get_context("fork").Pipe(duplex=False)
            child = get_context("fork").Process(target=work, args=(theirs,), daemon=True)
            child.start()
            theirs.close()  # so that this end hears when the child is through
            children.append((child, ours))
        _forking(recorder, now=False)
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        yield from _in_order({ours for _, ours in children}, starts, recorder)
    finally:  # all done, or an interruption, or the caller wants no more: what is under way is of no use
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        _forking(recorder, now=False)
        os.close(queue)
        for child, ours in children:
            child.kill()
            child.join()
            ours.close()


def _forking(recorder: Recorder | None, *, now: bool) -> None:
    if recorder:
        recorder.forking = now


def _do(function: Callable[[Item], Any], items: Sequence[Item], start: int, recorder: Recorder | None) -> bytes:
    """Return, pickled: the first item's number, the results, what was read for them, and the error that ended it."""
    import pickle  # which multiprocessing has loaded

    files, folders = (len(recorder.files), len(recorder.folders)) if recorder else (0, 0)
    done: list[Any] = []
    error = None
    try:
        for item in items:
            done.append(function(item))  # noqa: PERF401 - what was done before an error counts
    except Exception as raised:  # noqa: BLE001 - the caller's to handle
        error = raised
    return pickle.dumps((start, done, recorder.news(files, folders) if recorder else None, error))


def _in_order(working: set[Connection], starts: range, recorder: Recorder | None) -> Iterator[Any]:
    import pickle
    from multiprocessing.connection import wait

    arrived: dict[int, tuple[list[Any], Exception | None]] = {}
    for start in starts:
        while start not in arrived:
            if not working:
                raise ChildDied("a process that did a part of the work ended before it was done")
            for connection in cast("list[Connection]", wait(list(working))):
                try:
                    first, done, news, error = pickle.loads(connection.recv_bytes())  # noqa: S301 - our own child's
                except EOFError:
                    working.discard(connection)
                    continue
                arrived[first] = done, error
                if recorder:
                    recorder.add(news)
        results, error = arrived.pop(start)
        yield from results
        if error:
            raise error

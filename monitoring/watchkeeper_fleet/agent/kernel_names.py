"""GPU kernels' names as a label may have them: short, without what a template or a call was made with."""

from __future__ import annotations

from watchkeeper_fleet.spool.layout import cleaned

NCCL = "nccl"
OTHER = "other"
LONGEST = 100


def label_of(name: str) -> str:
    """Return the label of a kernel: its name without types, `nccl` for all collectives.

    `void at::native::vectorized_elementwise_kernel<4, ...>(int, ...)` is `at::native::vectorized_elementwise_kernel`.
    """
    if "nccl" in name.lower():
        return NCCL
    short = _without_templates(name.replace("(anonymous namespace)::", ""))
    # What is left in parentheses is what it is called with.
    short = short.partition("(")[0].strip().rpartition(" ")[2]
    return cleaned(short)[:LONGEST] or OTHER


def _without_templates(name: str) -> str:
    if "<" not in name:
        return name
    kept = []
    depth = 0
    before = ""
    for letter in name:
        if letter == "<":
            depth += 1
        elif letter == ">" and before != "-":  # -> is no bracket
            depth = max(depth - 1, 0)
        elif not depth:
            kept.append(letter)
        before = letter
    return "".join(kept)

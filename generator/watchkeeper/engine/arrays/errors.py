"""What the vectorised evaluator raises where it has no answer of its own."""

from __future__ import annotations


class Unsupported(Exception):  # noqa: N818  (no error to a user: the step-wise evaluator takes over)
    """The expression or the data need the step-wise evaluator; the message says why.

    Also raised where evaluation fails: the step-wise evaluator then finds the first step that fails, and words it.
    """

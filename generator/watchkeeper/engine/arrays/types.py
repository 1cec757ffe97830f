"""Names for the arrays that are passed around.

They tell the reader what is inside. To the type checker they are arrays of anything, for NumPy's own annotations of
operators and functions differ from one version to the next.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[Any]
    Bools: TypeAlias = NDArray[Any]
    Ints: TypeAlias = NDArray[Any]

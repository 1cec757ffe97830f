"""Where panels stand: left to right on Grafana's 24-column grid, a new line where the next one does not fit."""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS = 24
ROW_HEIGHT = 1

# Width and height of a panel that does not say, by panel type.
SIZES = {"row": (COLUMNS, ROW_HEIGHT), "stat": (4, 4), "gauge": (4, 6), "text": (24, 4), "table": (24, 8)}
DEFAULT_SIZE = (12, 8)


@dataclass
class Flow:
    """The place of the next panel. `x`, `y`: where it starts; `bottom`: below all that has been placed."""

    x: int = 0
    y: int = 0
    bottom: int = 0

    def place(self, width: int, height: int) -> tuple[int, int]:
        """Return column and line of the next panel."""
        if self.x + width > COLUMNS:
            self.x, self.y = 0, self.bottom
        at = self.x, self.y
        self.x += width
        self.bottom = max(self.bottom, self.y + height)
        return at

    def fixed(self, y: int, height: int) -> None:
        """Go on below a panel that stands where its author put it."""
        self.bottom = max(self.bottom, y + height)
        self.x, self.y = 0, self.bottom

    def line(self) -> int:
        """Start a new line, such as a row's title, and return it."""
        if self.x:
            self.x, self.y = 0, self.bottom
        return self.y

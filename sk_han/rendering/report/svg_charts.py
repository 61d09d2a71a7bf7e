"""Small charts as SVG inside of a page: colours are those of its style sheet, light or dark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sk_han.rendering.markup import escaped

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 22, 10, 48


class Axis(NamedTuple):
    """A scale from `low` to `high`, with its ticks as (value, text)."""

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]


def ticks(low: float, high: float, *, whole: bool = False) -> list[tuple[float, str]]:
    """Return up to seven round values between two numbers, with their texts."""
    rough = (high - low) / 6 or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    if whole:
        step = max(1.0, round(step))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(i * step, f"{i * step:.6g}") for i in range(first, last + 1)]


class Chart:
    """A chart that grows by marks; coordinates are values of its axes.

    The description is for readers who do not see it. `kind` of a mark is "toward", "against" or
    "muted", the names of colours in the style sheet.
    """

    def __init__(self, x: Axis, y: Axis, description: str) -> None:
        self._x, self._y, self._description = x, y, description
        self._marks: list[str] = []

    def line(
        self, points: Iterable[tuple[float, float]], kind: str, *, dashed: bool = False
    ) -> None:
        """Draw a line through points."""
        path = " ".join(f"{self._left(x)},{self._top(y)}" for x, y in points)
        more = " han-dashed" if dashed else ""
        self._marks.append(f'<polyline class="han-line han-{kind}{more}" points="{path}"/>')

    def dots(
        self,
        points: Iterable[tuple[float, float]],
        kind: str,
        titles: Iterable[str],
        *,
        hollow: bool = False,
    ) -> None:
        """Draw points, each with a title that browsers show under the pointer."""
        more = " han-hollow" if hollow else ""
        self._marks += [
            f'<circle class="han-dot han-{kind}{more}" cx="{self._left(x)}" cy="{self._top(y)}" '
            f'r="3.5"><title>{escaped(title)}</title></circle>'
            for (x, y), title in zip(points, titles, strict=True)
        ]

    def interval(self, x: float, low: float, high: float) -> None:
        """Draw the interval of a value, from `low` to `high`."""
        self._marks.append(
            f'<path class="han-line han-toward" d="M{self._left(x)} {self._top(low)}'
            f'V{self._top(high)}"/>'
        )

    def bar(self, low: float, high: float, y: float, title: str) -> None:
        """Draw a bar from the lower end of the axis to `y`."""
        left, top, bottom = self._left(low), self._top(y), self._top(self._y.low)
        self._marks.append(
            f'<rect class="han-fill" x="{left}" y="{top}" '
            f'width="{max(0.0, self._left(high) - left - 1):.1f}" height="{bottom - top:.1f}">'
            f"<title>{escaped(title)}</title></rect>"
        )

    def markup(self) -> str:
        """Return the chart as an SVG element."""
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        grid = "".join(
            f'<path class="han-grid" d="M{LEFT} {self._top(value)}H{right}"/>'
            f'<text x="{LEFT - 7}" y="{self._top(value) + 4:.1f}" text-anchor="end">'
            f"{escaped(text)}</text>"
            for value, text in self._y.ticks
        ) + "".join(
            f'<text x="{self._left(value)}" y="{bottom + 17}" text-anchor="middle">'
            f"{escaped(text)}</text>"
            for value, text in self._x.ticks
        )
        middle = (TOP + bottom) / 2
        names = (
            f'<text class="han-axis" x="{(LEFT + right) / 2}" y="{HEIGHT - 8}" '
            f'text-anchor="middle">{escaped(self._x.label)}</text>'
            f'<text class="han-axis" x="14" y="{middle}" text-anchor="middle" '
            f'transform="rotate(-90 14 {middle})">{escaped(self._y.label)}</text>'
        )
        return (
            f'<svg class="han-chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{escaped(self._description)}">{grid}{"".join(self._marks)}'
            f'<path class="han-base" d="M{LEFT} {bottom}H{right}"/>{names}</svg>'
        )

    def _left(self, x: float) -> float:
        share = (x - self._x.low) / ((self._x.high - self._x.low) or 1.0)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def _top(self, y: float) -> float:
        share = (y - self._y.low) / ((self._y.high - self._y.low) or 1.0)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

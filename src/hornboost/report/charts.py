"""Charts as SVG text.

Axes with lines, points, bars and marks, coloured by the page's style sheet, described for screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from hornboost.report.text import number

Point = tuple[float, float]
MOST_POINTS = 300


class Chart:
    """Axes over a range of x and y; what is drawn later lies above what was drawn before."""

    def __init__(
        self,
        title: str,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        x_label: str,
        y_label: str,
        width: int = 460,
        height: int = 330,
        percent: bool = False,
    ) -> None:
        self.title, self.width, self.height = title, width, height
        self.left, self.right, self.top, self.bottom = 54, 24, 14, 44
        self.x_range, self.y_range = _widened(x), _widened(y)
        self.parts: list[Markup] = []
        self._axes(x_label, y_label, percent)

    def x(self, value: float) -> float:
        low, high = self.x_range
        return round(self.left + (value - low) / (high - low) * (self.width - self.left - self.right), 1)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return round(
            self.height - self.bottom - (value - low) / (high - low) * (self.height - self.top - self.bottom), 1
        )

    def line(self, points: Iterable[Point], css: str, label: str = "") -> None:
        """A line through points, thinned to what a screen can show."""
        placed = [
            f"{self.x(px)},{self.y(py)}" for px, py in thinned(list(points)) if math.isfinite(px) and math.isfinite(py)
        ]
        if placed:
            title = Markup("<title>{}</title>").format(label) if label else ""
            self.parts.append(
                Markup('<polyline class="{}" points="{}">{}</polyline>').format(css, " ".join(placed), title)
            )

    def point(self, px: float, py: float, css: str, label: str, radius: float = 3.5) -> None:
        text = Markup('<circle class="{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>')
        self.parts.append(text.format(css, self.x(px), self.y(py), radius, label))

    def whisker(self, px: float, low: float, high: float, css: str) -> None:
        self.parts.append(Markup('<path class="{}" d="M{} {}V{}"/>').format(css, self.x(px), self.y(low), self.y(high)))

    def bar(self, start: float, stop: float, height: float, css: str, label: str) -> None:
        """A bar that stands on the x axis."""
        x0, x1, y0, y1 = self.x(start), self.x(stop), self.y(height), self.y(self.y_range[0])
        text = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>')
        self.parts.append(text.format(css, x0, y0, round(max(x1 - x0 - 1, 0.5), 1), round(max(y1 - y0, 0), 1), label))

    def mark(self, px: float, number: int, label: str) -> None:
        """A numbered vertical line."""
        text = Markup(
            '<g class="mark"><title>{}</title><path d="M{} {}V{}"/><circle cx="{}" cy="{}" r="8"/><text '
            'x="{}" y="{}">{}</text></g>'
        )
        at, top = self.x(px), self.top + 8
        self.parts.append(text.format(label, at, self.height - self.bottom, top, at, top, at, top + 4, number))

    def cursor(self, px: float) -> None:
        """A vertical line that a script may move."""
        text = Markup('<path class="cursor" d="M0 {}V{}" transform="translate({} 0)"/>')
        self.parts.append(text.format(self.top, self.height - self.bottom, self.x(px)))

    def svg(self) -> Markup:
        text = Markup('<svg viewBox="0 0 {} {}" class="chart" role="img" aria-label="{}">{}</svg>')
        return text.format(self.width, self.height, self.title, Markup("\n").join(self.parts))

    def _axes(self, x_label: str, y_label: str, percent: bool) -> None:
        floor, edge = self.height - self.bottom, self.width - self.right
        for value in ticks(*self.y_range):
            at = self.y(value)
            self.parts.append(Markup('<path class="grid" d="M{} {}H{}"/>').format(self.left, at, edge))
            self.parts.append(
                Markup('<text class="tick end" x="{}" y="{}">{}</text>').format(
                    self.left - 6, at + 4, _tick(value, percent)
                )
            )
        for value in ticks(*self.x_range):
            self.parts.append(
                Markup('<text class="tick mid" x="{}" y="{}">{}</text>').format(
                    self.x(value), floor + 17, _tick(value, percent)
                )
            )
        self.parts.append(Markup('<path class="axis" d="M{} {}H{}"/>').format(self.left, floor, edge))
        middle = (self.left + edge) / 2
        self.parts.append(
            Markup('<text class="label mid" x="{}" y="{}">{}</text>').format(middle, self.height - 6, x_label)
        )
        turn = (self.top + floor) / 2
        self.parts.append(
            Markup('<text class="label mid" transform="translate(13 {}) rotate(-90)">{}</text>').format(turn, y_label)
        )


def bar_of_shares(shares: Sequence[tuple[float, str, str]], label: str) -> Markup:
    """A bar of full width in which each share (of 1, css class, text) has its part."""
    parts, start = [], 0.0
    for share, css, text in shares:
        if share > 0:
            rect = Markup('<rect class="{}" x="{}" y="0" width="{}" height="10"><title>{}</title></rect>')
            parts.append(rect.format(css, round(100 * start, 2), round(max(100 * share, 0.4), 2), text))
        start += share
    text = Markup(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    )
    return text.format(label, Markup("").join(parts))


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> Sequence[Point]:
    """At most `most` of the points, evenly along the list, the ends among them.

    >>> thinned([(k, k) for k in range(5)], 3)
    [(0, 0), (2, 2), (4, 4)]
    """
    if len(points) <= most:
        return points
    return [points[round(k * (len(points) - 1) / (most - 1))] for k in range(most)]


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two bounds.

    >>> ticks(0, 1), ticks(1, 100)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [20.0, 40.0, 60.0, 80.0, 100.0])
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def describe_axis(values: Sequence[float]) -> str:
    """First, last and extreme values of a line in words."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return "no values"
    return f"from {number(round(known[0], 4))} to {number(round(known[-1], 4))}, highest {number(round(max(known), 4))}"


def _tick(value: float, percent: bool) -> Markup:
    return escape(f"{value:.0%}" if percent else number(value))


def _widened(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    return (low, high) if high > low else (low - 0.5, high + 0.5)

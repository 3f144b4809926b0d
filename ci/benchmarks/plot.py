"""Curves as SVG: logarithmic axes, the measured points, the fitted line and its slope. Same curves, same bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from benchmarks.measure import SECONDS, Curve

WIDTH, HEIGHT = 560, 360
LEFT, RIGHT, BOTTOM, LINE = 80, 16, 52, 17
COLOURS = ("#1b6ca8", "#c2571a", "#2a7f3f", "#7b3fa0", "#555555")
_STYLE = (
    "text{font:12px sans-serif;fill:#222}.t{font-size:14px;font-weight:bold}"
    ".g{stroke:#ddd}.a{stroke:#444;fill:none}"
)


def svg(title: str, curves: Sequence[Curve]) -> str:
    """One drawing of curves that share their axes."""
    xs = [x for curve in curves for x, _ in curve.points]
    ys = [y for curve in curves for _, y in curve.points]
    top = 30 + LINE * len(curves)  # the legend stands above the drawing, where no point can hide it
    across, up = _Axis(xs, LEFT, WIDTH - RIGHT), _Axis(ys, HEIGHT - BOTTOM, top, decades=True)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text class="t" x="{LEFT}" y="20">{escape(title)}</text>',
        *_grid(across, up, top, _time if curves[0].y == SECONDS else _number),
        *_labels(curves[0], top),
    ]
    for number, curve in enumerate(curves):
        parts += _curve(curve, COLOURS[number % len(COLOURS)], across, up, number)
    return "\n".join([*parts, "</svg>", ""])


class _Axis:
    """A logarithmic axis between two pixel positions."""

    def __init__(self, values: Sequence[float], start: float, end: float, *, decades: bool = False) -> None:
        low, high = math.log10(min(values)), math.log10(max(values))
        if decades:  # whole powers of ten around the points, so that drawings compare
            low, high = math.floor(low + 1e-9), math.ceil(high - 1e-9)
        if high - low < 1e-9:
            low, high = low - 0.5, high + 0.5
        margin = 0.03 * (high - low)
        self._low, self._high = low - margin, high + margin
        self._start, self._end = start, end
        points = range(math.floor(low), math.ceil(high) + 1)
        self.ticks = [10.0**power for power in points] if decades else sorted(set(values))

    def at(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return round(self._start + share * (self._end - self._start), 1)


def _grid(across: _Axis, up: _Axis, top: int, told: Callable[[float], str]) -> list[str]:
    bottom, parts = HEIGHT - BOTTOM, []
    last = -math.inf
    for tick in across.ticks:
        x = across.at(tick)
        parts.append(f'<line class="g" x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>')
        if x - last >= 34:  # crowded labels would hide each other
            parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{_number(tick)}</text>')
            last = x
    for tick in up.ticks:
        y = up.at(tick)
        parts.append(f'<line class="g" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{told(tick)}</text>')
    parts.append(f'<path class="a" d="M{LEFT} {top}V{bottom}H{WIDTH - RIGHT}"/>')
    return parts


def _labels(curve: Curve, top: int) -> list[str]:
    middle, height = (LEFT + WIDTH - RIGHT) // 2, (top + HEIGHT - BOTTOM) // 2
    return [
        f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle">{escape(curve.x)}</text>',
        f'<text x="16" y="{height}" text-anchor="middle" transform="rotate(-90 16 {height})">{escape(curve.y)}</text>',
    ]


def _curve(curve: Curve, colour: str, across: _Axis, up: _Axis, number: int) -> list[str]:
    parts = [
        f'<circle cx="{across.at(x)}" cy="{up.at(y)}" r="3.5" fill="{colour}"/>' for x, y in curve.points
    ]
    slope = curve.slope
    if slope is not None:
        parts.append(_fitted(curve, slope, colour, across, up))
    told = f"{curve.name}: slope {slope:.2f}" if slope is not None else curve.name
    y = 38 + LINE * number
    parts.append(f'<rect x="{LEFT + 8}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
    parts.append(f'<text x="{LEFT + 24}" y="{y}">{escape(told)}</text>')
    return parts


def _fitted(curve: Curve, slope: float, colour: str, across: _Axis, up: _Axis) -> str:
    """The least-squares line, drawn from the first to the last point."""
    logs = [(math.log(x), math.log(y)) for x, y in curve.points]
    offset = sum(y - slope * x for x, y in logs) / len(logs)
    ends = [min(x for x, _ in curve.points), max(x for x, _ in curve.points)]
    points = " ".join(f"{across.at(x)},{up.at(math.exp(offset + slope * math.log(x)))}" for x in ends)
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-dasharray="5 3"/>'


def _time(seconds: float) -> str:
    for size, unit in ((1, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds * 1e6:g} µs"


def _number(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"

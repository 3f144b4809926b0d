"""Timing: warm-up, repetitions, medians and spread; wall, CPU and peak memory of child processes; rows and curves."""

from __future__ import annotations

import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Timing:
    """Seconds: median and extremes of the repetitions."""

    median: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        spread = f"{show(self.low)}–{show(self.high)}, " if self.runs > 1 else ""
        return f"{show(self.median)} ({spread}n={self.runs})"


def show(seconds: float) -> str:
    if seconds < 0.0001:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def mebibytes(size: float) -> str:
    return f"{size / 2**20:.1f} MiB"


def summary(samples: Sequence[float]) -> Timing:
    return Timing(statistics.median(samples), min(samples), max(samples), len(samples))


def timed(
    action: Callable[[], Any], runs: int, warm: int = 1, before: Callable[[], Any] | None = None
) -> Timing:
    samples = []
    for number in range(warm + runs):
        if before is not None:
            before()
        started = time.perf_counter()
        action()
        if number >= warm:
            samples.append(time.perf_counter() - started)
    return summary(samples)


_STARTER = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


@dataclass(frozen=True)
class Child:
    wall: float
    cpu: float
    out: str
    peak_rss: int = 0  # bytes, of the largest process; only `weighed` tells


def child(command: Sequence[str], cwd: Path, env: dict[str, str], ok: tuple[int, ...] = (0,)) -> Child:
    """Run one process tree and account for its time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    process = subprocess.Popen(
        list(command), cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    out, err = process.communicate()
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in ok:
        sys.exit(f"{' '.join(command)} failed ({process.returncode}): {err}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Child(wall, cpu, out)


def weighed(command: Sequence[str], cwd: Path, env: dict[str, str]) -> Child:
    """The same, with the kernel's high-water mark of the memory.

    A process is charged with what the one that started it held at that moment, and this one may hold a lot: a small one
    starts it. What that takes is far below what is weighed.
    """
    done = child([sys.executable, "-I", "-S", "-c", _STARTER, *command], cwd, env)
    out, _, peak = done.out.rstrip().rpartition("\n")
    return replace(done, out=out, peak_rss=int(peak) * 1024)


def alone(module: str, root: Path, home: Path, *arguments: object) -> dict[str, Any]:
    """What one of our own modules measures in a process of its own, and prints as JSON."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    given = environment(home)
    here = str(Path(__file__).resolve().parents[1])
    done = weighed(command, root, {**given, "PYTHONPATH": f"{here}{os.pathsep}{given['PYTHONPATH']}"})
    found: dict[str, Any] = json.loads(done.out)
    return found


def gitindex(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gitindex", *arguments]


def environment(home: Path) -> dict[str, str]:
    here = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH", ""))))
    # An installation has its bytecode; without this each start might compile what changed since the last test run.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "GITINDEX_HOME": str(home), "PYTHONPATH": path}


def disk(folder: Path) -> int:
    """Bytes of the files below; hard links count once."""
    seen: dict[int, int] = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            info = path.stat()
            seen[info.st_ino] = info.st_size
    return sum(seen.values())


SECONDS = "seconds"  # on the axis of a curve
DID_NOT_RUN = "did not run"


@dataclass(frozen=True)
class Row:
    """One line of a report: what, measured against what, the bound it must keep."""

    name: str
    value: str
    baseline: str
    ratio: float | None
    bound: float | None
    note: str = ""

    @property
    def kept(self) -> bool:
        return self.ratio is None or self.bound is None or self.ratio <= self.bound

    @classmethod
    def failed(cls, name: str, reason: str) -> Row:
        """A measurement that did not happen is a bound that is not kept."""
        return cls(name, DID_NOT_RUN, reason, 1.0, 0.0)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "kept": self.kept}


@dataclass(frozen=True)
class Curve:
    """Cost against size."""

    name: str
    x: str  # what grows, with its unit
    y: str  # what it costs, with its unit
    points: tuple[tuple[float, float], ...]
    note: str = ""

    @property
    def slope(self) -> float | None:
        """Of the least-squares line through the logarithms: 1 is linear, 0 does not grow at all."""
        pairs = [(math.log(x), math.log(y)) for x, y in self.points if x > 0 and y > 0]
        if len({x for x, _ in pairs}) < 2:
            return None
        return statistics.linear_regression(*zip(*pairs, strict=True)).slope

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "slope": self.slope}


@dataclass(frozen=True)
class Section:
    """What one benchmark found: rows with bounds, curves to draw, free Markdown below them, and its numbers."""

    rows: list[Row] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    text: str = ""
    data: Any = None


def anchor(section: str, name: str) -> str:
    """The name of a row that documents link to: `docs/benchmarks/README.md#query-cold-lexical-search`."""
    return re.sub(r"[^a-z0-9]+", "-", f"{section} {name}".lower()).strip("-")


def table(rows: Sequence[Row], section: str = "") -> str:
    lines = ["| what | measured | against | ratio | bound | verdict |", "|---|---|---|---|---|---|"]
    seen: set[str] = set()
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}" if row.ratio >= 0.1 else f"{row.ratio:.1g}"
        bound = f"≤ {row.bound:g}" if row.bound is not None else ""
        verdict = "" if row.bound is None else "kept" if row.kept else "**missed**"
        mark = anchor(section, row.name)
        place = f'<a id="{mark}"></a>' if section and mark not in seen else ""
        seen.add(mark)
        told = "; ".join(filter(None, (verdict, row.note)))
        lines.append(f"| {place}{row.name} | {row.value} | {row.baseline} | {ratio} | {bound} | {told} |")
    return "\n".join(lines)

"""Timing: warm-up, repetitions, medians and spread; wall, CPU and peak memory of child processes."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
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
        return f"{show(self.median)} ({show(self.low)}–{show(self.high)}, n={self.runs})"


def show(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


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


@dataclass(frozen=True)
class Child:
    wall: float
    cpu: float
    peak_rss: int  # bytes, of the largest process
    out: str


def child(command: Sequence[str], cwd: Path, env: dict[str, str], ok: tuple[int, ...] = (0,)) -> Child:
    """Run one process tree and account for it: CPU by its own clock, memory by the kernel's high-water mark."""
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
    return Child(wall, cpu, after.ru_maxrss * 1024, out)


def gitindex(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gitindex", *arguments]


def environment(home: Path) -> dict[str, str]:
    here = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "GITINDEX_HOME": str(home), "PYTHONPATH": path}


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

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "kept": self.kept}


def table(rows: Sequence[Row]) -> str:
    lines = ["| what | measured | against | ratio | bound | |", "|---|---|---|---|---|---|"]
    for row in rows:
        ratio = f"{row.ratio:.2f}" if row.ratio is not None else ""
        bound = f"≤ {row.bound:g}" if row.bound is not None else ""
        verdict = "" if row.bound is None else "kept" if row.kept else "**missed**"
        lines.append(
            f"| {row.name} | {row.value} | {row.baseline} | {ratio} | {bound} | {verdict} {row.note} |"
        )
    return "\n".join(lines)

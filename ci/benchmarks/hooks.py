"""What hooks add to `git commit`, measured interleaved so that drift hits every variant alike (HK-2).

The repository is cloned first and never changed. Each round commits once per variant, in random order; the worker is
a program that exits at once, because only the foreground is measured here. Next to the wall time stands the processor
time of git and all it waited for: on a busy machine that is the number to believe.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks import corpus
from benchmarks.measure import Row
from gitindex.git.repo import discover
from gitindex.hooks.install import install

ROOT = Path(__file__).resolve().parents[2]
STAGES = "[post-commit, post-checkout, post-merge, post-rewrite]"
LOCAL = """\
repos:
- repo: local
  hooks:
  - id: bench
    name: bench
    language: system
    entry: {entry}
    always_run: true
    pass_filenames: false
    stages: {stages}
"""


class Sample(NamedTuple):
    wall: float
    cpu: float


def run(cache: Path, quick: bool) -> list[Row]:
    source = corpus.repository(corpus.DJANGO, cache)
    with tempfile.TemporaryDirectory(prefix="gitindex-bench-") as folder:
        times = _measure(_variants(Path(folder), source), 20 if quick else 80)
    rows = {name: _summary(taken) for name, taken in times.items()}
    bare, native = rows["none"], rows["native"]
    added = {key: native[key] - bare[key] for key in bare}
    ratio = rows["ours"]["median"] / rows["no-op"]["median"]
    return [
        Row("git commit with native hooks, added median", _ms(added["median"]), "2 ms", added["median"] / 2.0, 1.0,
            f"bare commit {_ms(bare['median'])}"),
        Row("the same, added p95", _ms(added["p95"]), "5 ms", added["p95"] / 5.0, 1.0),
        Row("the same, added CPU", _ms(added["cpu"]), f"bare {_ms(bare['cpu'])}", None, None),
        Row("git commit through pre-commit", _ms(rows["ours"]["median"]), f"no-op hook {_ms(rows['no-op']['median'])}",
            ratio, 1.1),
    ]  # fmt: skip


def _ms(value: float) -> str:
    return f"{value:.2f} ms"


def _variants(where: Path, source: Path) -> dict[str, Path]:
    worker = where / "worker"
    worker.write_text("#!/bin/sh\nexit 0\n")
    worker.chmod(0o755)
    made = {name: _clone(source, where / name) for name in ("none", "native", "no-op", "ours")}
    found = discover(made["native"])
    assert found is not None
    install(found, python=str(worker))
    _pre_commit(made["no-op"], "/bin/true")
    _pre_commit(made["ours"], str(ROOT / "hooks" / "gitindex-hook"))
    return made


def _clone(source: Path, target: Path) -> Path:
    _git(target.parent, "clone", "-q", "--no-hardlinks", str(source), str(target))
    return target


def _pre_commit(repo: Path, entry: str) -> None:
    (repo / ".pre-commit-config.yaml").write_text(LOCAL.format(entry=entry, stages=STAGES))
    _git(repo, "add", "-A")
    _git(repo, "commit", "-q", "-m", "configured")
    command = [sys.executable, "-m", "pre_commit", "install", "-t", "post-commit"]
    subprocess.run(command, cwd=repo, check=True, capture_output=True, env=_environment())


def _measure(variants: dict[str, Path], rounds: int) -> dict[str, list[Sample]]:
    times: dict[str, list[Sample]] = {name: [] for name in variants}
    dice = random.Random(0)
    for number in range(rounds + 3):
        for name in dice.sample(list(variants), len(variants)):
            taken = _commit(variants[name], number)
            if number >= 3:  # the first rounds warm caches
                times[name].append(taken)
    return times


def _commit(repo: Path, number: int) -> Sample:
    (repo / "bench.txt").write_text(f"{number}\n")
    _git(repo, "add", "bench.txt")
    command = ["git", "-C", str(repo), "commit", "-q", "-m", "bench"]
    started = time.perf_counter()
    child = subprocess.Popen(
        command, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, child.returncode, used = os.wait4(child.pid, 0)
    assert child.returncode == 0
    return Sample((time.perf_counter() - started) * 1000, (used.ru_utime + used.ru_stime) * 1000)


def _git(where: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(where), *arguments], check=True, capture_output=True, env=_environment())


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {
        f"GIT_{role}_{what}": "bench@example.com"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    return {**kept, **who, "PYTHONPATH": str(ROOT), "PATH": _path_without_gitindex(kept.get("PATH", ""))}


def _path_without_gitindex(path: str) -> str:
    """A gitindex on PATH would start a real worker and disturb the measurement."""
    return os.pathsep.join(part for part in path.split(os.pathsep) if not shutil.which("gitindex", path=part))


def _summary(taken: list[Sample]) -> dict[str, float]:
    wall = [sample.wall for sample in taken]
    cpu = statistics.median(sample.cpu for sample in taken)
    return {"median": statistics.median(wall), "p95": statistics.quantiles(wall, n=20)[-1], "cpu": cpu}

"""What hooks add to `git commit`, measured interleaved so that drift hits every variant alike (HK-2).

Usage: python ci/bench_hooks.py [--repo DIR] [--rounds N] [--json]
The repository is cloned first and never changed. Each round commits once per variant, in random order; the worker is
a program that exits at once, because only the foreground is measured here. Next to the wall time stands the processor
time of git and all it waited for: on a busy machine that is the number to believe.
"""

from __future__ import annotations

import argparse
import json
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

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gitindex.git.repo import discover  # noqa: E402
from gitindex.hooks.install import install  # noqa: E402

BUDGET_MEDIAN_MS, BUDGET_P95_MS, BUDGET_PRE_COMMIT = 2.0, 5.0, 1.1
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


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="gitindex-bench-") as folder:
        where = Path(folder)
        variants = _variants(where, options.repo)
        times = _measure(variants, options.rounds)
    report = _report(times)
    print(json.dumps(report, indent=2) if options.json else _table(report))
    return 0 if report["within_budget"] else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, help="a repository to clone (default: a small one made here)")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _variants(where: Path, source: Path | None) -> dict[str, Path]:
    source = source or _small(where / "small")
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


def _small(where: Path) -> Path:
    _git(where.parent, "init", "-q", str(where))
    for number in range(50):
        (where / f"f{number}.py").write_text(f"value = {number}\n")
    _git(where, "add", "-A")
    _git(where, "commit", "-q", "-m", "start")
    return where


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


def _report(times: dict[str, list[Sample]]) -> dict[str, object]:
    rows = {name: _summary(taken) for name, taken in times.items()}
    native = {key: rows["native"][key] - rows["none"][key] for key in rows["none"]}
    ratio = rows["ours"]["median"] / rows["no-op"]["median"]
    within = native["median"] <= BUDGET_MEDIAN_MS and native["p95"] <= BUDGET_P95_MS
    within = within and ratio <= BUDGET_PRE_COMMIT
    return {"commit_ms": rows, "native_added_ms": native, "pre_commit_ratio": ratio, "within_budget": within}


def _summary(taken: list[Sample]) -> dict[str, float]:
    wall = [sample.wall for sample in taken]
    cpu = statistics.median(sample.cpu for sample in taken)
    return {"median": statistics.median(wall), "p95": statistics.quantiles(wall, n=20)[-1], "cpu": cpu}


def _table(report: dict[str, object]) -> str:
    rows = report["commit_ms"]
    assert isinstance(rows, dict)
    lines = [f"{'git commit with':20}{'median ms':>12}{'p95 ms':>12}{'cpu ms':>12}"]
    lines += [
        f"{name:20}{row['median']:12.2f}{row['p95']:12.2f}{row['cpu']:12.2f}" for name, row in rows.items()
    ]
    lines += [f"{key}: {report[key]}" for key in ("native_added_ms", "pre_commit_ratio", "within_budget")]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

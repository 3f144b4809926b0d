"""What hooks add to `git commit`, as somebody who waits for it sees it (HK-2).

One clone, never the repository itself; each round commits once per variant, in random order, and only the folder git
looks for hooks in differs: the same index, the same objects, the same history. What is compared is the difference
within a round, so drift hits both sides. The worker really starts, imports what the real one imports and takes the
note; it indexes nothing, because the real one waits longer than a commit lasts. The next sample begins after it is
gone: nobody commits thirty times a second. Next to the wall time stands the processor time of git and all it waited
for: on a busy machine that is the number to believe.
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
from gitindex.gitdir import hookrequest
from gitindex.hooks.install import install

ROOT = Path(__file__).resolve().parents[2]
BETWEEN = 0.3  # seconds of rest before every sample, whatever the one before started
WARM = 3
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
WORKER = """\
#!/bin/sh
exec "{python}" -P -c '
import sys
from pathlib import Path
from gitindex.gitdir import hookrequest
from gitindex.hooks import worker
hookrequest.withdraw(Path(sys.argv[-1]))' "$@"
"""


class Sample(NamedTuple):
    wall: float
    cpu: float


Samples = dict[str, list[Sample]]


def run(cache: Path, quick: bool) -> list[Row]:
    source = corpus.repository(corpus.DJANGO, cache)
    with tempfile.TemporaryDirectory(prefix="gitindex-bench-") as folder:
        repo = Path(folder) / "repository"
        _git(Path(folder), "clone", "-q", "--no-hardlinks", str(source), str(repo))
        _prepare(repo, Path(folder))
        native = _measure(repo, ("none", "empty", "native"), 20 if quick else 100)
        managed = _measure(repo, ("no-op", "ours"), 10 if quick else 40)
    return [*_native_rows(native), _managed_row(managed)]


def _native_rows(times: Samples) -> list[Row]:
    bare, added = times["none"], _added(times, "native")
    p95 = _p95(times["native"]) - _p95(bare)
    empty = _added(times, "empty")
    return [
        Row("git commit with native hooks, added median", _ms(added.wall), "2 ms", added.wall / 2.0, 1.0,
            f"bare commit {_ms(_median(bare).wall)}"),
        Row("the same, added p95", _ms(p95), "5 ms", p95 / 5.0, 1.0),
        Row("the same, added CPU", _ms(added.cpu), f"bare {_ms(_median(bare).cpu)}", None, None),
        Row("the same, an empty sh hook instead", _ms(empty.wall), f"CPU {_ms(empty.cpu)}", None, None),
    ]  # fmt: skip


def _managed_row(times: Samples) -> Row:
    ours, base = _median(times["ours"]).wall, _median(times["no-op"]).wall
    return Row("git commit through pre-commit", _ms(ours), f"no-op hook {_ms(base)}", ours / base, 1.1)


def _prepare(repo: Path, where: Path) -> None:
    """A folder of hooks for each variant, below the git directory."""
    for name in ("none", "empty", "native", "no-op", "ours"):
        _hooks(repo, name).mkdir()
    _executable(_hooks(repo, "empty") / "post-commit", "#!/bin/sh\nexit 0\n")
    worker = _executable(where / "worker", WORKER.format(python=sys.executable))
    _git(repo, "config", "core.hooksPath", str(_hooks(repo, "native")))
    found = discover(repo)
    assert found is not None
    install(found, python=str(worker), files=True)
    _git(repo, "config", "--unset", "core.hooksPath")  # pre-commit insists
    _pre_commit(repo, "no-op", "/bin/true")
    _pre_commit(repo, "ours", str(ROOT / "hooks" / "gitindex-hook"))


def _hooks(repo: Path, name: str) -> Path:
    return repo / ".git" / f"hooks-{name}"


def _executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def _pre_commit(repo: Path, name: str, entry: str) -> None:
    config = repo / ".git" / f"{name}.yaml"
    config.write_text(LOCAL.format(entry=entry, stages=STAGES))
    command = [sys.executable, "-m", "pre_commit", "install", "-t", "post-commit", "-c", str(config)]
    subprocess.run(command, cwd=repo, check=True, capture_output=True, env=_environment())
    (repo / ".git" / "hooks" / "post-commit").rename(_hooks(repo, name) / "post-commit")


def _measure(repo: Path, names: tuple[str, ...], rounds: int) -> Samples:
    times: Samples = {name: [] for name in names}
    dice = random.Random(0)
    for number in range(WARM + rounds):
        for name in dice.sample(names, len(names)):
            taken = _commit(repo, name, f"{number} {name}")
            if number >= WARM:  # the first rounds warm caches
                times[name].append(taken)
    return times


def _commit(repo: Path, name: str, text: str) -> Sample:
    (repo / "bench.txt").write_text(f"{text}\n")
    _git(repo, "add", "bench.txt")
    time.sleep(BETWEEN)
    command = ["git", "-C", str(repo), "-c", f"core.hooksPath={_hooks(repo, name)}"]
    command += ["commit", "-q", "-m", "bench"]
    environ = _environment()
    started = time.perf_counter()
    child = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, child.returncode, used = os.wait4(child.pid, 0)
    taken = Sample((time.perf_counter() - started) * 1000, (used.ru_utime + used.ru_stime) * 1000)
    assert child.returncode == 0
    _settle(repo, name)
    return taken


def _settle(repo: Path, name: str) -> None:
    """Until the worker this commit started has come and gone; through pre-commit none is found on PATH."""
    assert name != "native" or hookrequest.request_folder(repo / ".git").is_dir(), "the hook did not run"
    deadline = time.monotonic() + 30
    while name == "native" and hookrequest.has_request(repo / ".git"):
        assert time.monotonic() < deadline, "the worker did not come"
        time.sleep(0.01)
    hookrequest.withdraw(repo / ".git")


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


def _added(times: Samples, name: str) -> Sample:
    """Median of the differences between two samples of one round."""
    pairs = list(zip(times[name], times["none"], strict=True))
    return Sample(
        statistics.median(one.wall - other.wall for one, other in pairs),
        statistics.median(one.cpu - other.cpu for one, other in pairs),
    )


def _median(taken: list[Sample]) -> Sample:
    return Sample(
        statistics.median(sample.wall for sample in taken), statistics.median(sample.cpu for sample in taken)
    )


def _p95(taken: list[Sample]) -> float:
    return statistics.quantiles([sample.wall for sample in taken], n=20)[-1]


def _ms(value: float) -> str:
    return f"{value:.2f} ms"

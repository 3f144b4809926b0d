"""Profiles of the five hot paths: the hook, a one-file sync, a cold query, a full build, a fetch.

A sampling profiler (py-spy, in an environment of its own) looks at unchanged commands a few hundred times per second;
what Python spends on importing is told by Python itself. The foreground of a hook is shell: git's trace speaks for it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import corpus, tools
from benchmarks.measure import child, environment, gitindex, show, summary
from benchmarks.report import machine
from benchmarks.tools import Tool
from gitindex.git.repo import discover
from gitindex.hooks.install import install

RATE = 400
TOP = 12
MARK = "<!-- below: written by `ci/bench profile --markdown docs/benchmarks/profiles.md` -->"


class Profile(NamedTuple):
    samples: int
    inclusive: Counter[str]  # function → samples in which it was on the stack
    own: Counter[str]  # function → samples in which it was on top


def write(cache: Path, target: Path | None) -> None:
    """Measure and print; with a target, replace what stands below the mark there and keep what people wrote above."""
    text = "\n".join(_sections(cache.resolve()))
    print(text)
    if target is not None:
        above = (
            target.read_text().partition(MARK)[0] if target.exists() else "# Profiles of the hot paths\n\n"
        )
        target.write_text(f"{above}{MARK}\n\n{text}")


def _sections(cache: Path) -> Iterator[str]:
    about = machine(quick=False)
    spy = tools.python("py-spy==0.4.3", cache, 120)
    spy = Tool(spy.program.with_name("py-spy"), spy.env)
    root = corpus.repository(corpus.DJANGO, cache)
    home = cache / "homes" / "profile"
    shutil.rmtree(home, ignore_errors=True)
    env = environment(home)
    yield (
        f"Taken {about['at'][:10]} on {about['cores']} cores, Python {about['python']}, corpus {corpus.DJANGO}, "
        f"{RATE} samples per second. A sample counts for every function on the stack; `%` is of all samples.\n"
    )
    yield _told("Full build", _spied(spy, cache, gitindex("sync", "--full"), root, env))
    corpus.edit(root / "django" / "views" / "generic" / "list.py", "profiled")
    yield _told("Sync of one changed file", _spied(spy, cache, gitindex("sync"), root, env))
    query = gitindex("search", "get_queryset", "--mode", "lexical")
    yield _told("Cold lexical search", _spied(spy, cache, query, root, env, repeat=8))
    yield _imports(query, root, env)
    yield _told("Fetch", _fetch(spy, cache, root))
    yield _hook(cache, root)


def _spied(
    spy: Tool, cache: Path, command: Sequence[str], cwd: Path, env: dict[str, str], repeat: int = 1
) -> Profile:
    """The command under the profiler, its own worker processes included; short ones several times."""
    out = cache / "profile.raw"
    lines: list[str] = []
    for _ in range(repeat):
        spying = [
            "record",
            "--subprocesses",
            "--rate",
            str(RATE),
            "--format",
            "raw",
            "--output",
            str(out),
            "--",
        ]
        subprocess.run([spy.program, *spying, *command], cwd=cwd, env=env, capture_output=True, check=True)
        lines += out.read_text().splitlines()
    return parse(lines)


def parse(lines: Sequence[str]) -> Profile:
    """Collapsed stacks: `frame;frame;frame count`, a frame being `function (file:line)`."""
    inclusive: Counter[str] = Counter()
    own: Counter[str] = Counter()
    samples = 0
    for line in lines:
        stack, _, count = re.sub(r'^(process \d+:".*?";)+', "", line).rpartition(" ")
        frames = [_named(frame) for frame in stack.split(";") if frame and not frame.startswith("process ")]
        if not frames or not count.isdigit():
            continue
        samples += int(count)
        own[frames[-1]] += int(count)
        for frame in set(frames):
            inclusive[frame] += int(count)
    return Profile(samples, inclusive, own)


def _named(frame: str) -> str:
    """`sync (ops/syncing/sync.py)`: the line says too much, the directory of an installation nothing."""
    found = re.match(r"(.*) \((.*?)(:\d+)?\)$", frame)
    if found is None:
        return frame
    function, path = found[1], found[2]
    if "importlib" in path or "_distutils_hack" in path:
        return "importing modules"
    path = re.sub(r"^.*(site-packages|lib/python[\d.]+)/", "", path)
    return f"{function} ({path.removeprefix('gitindex/')})"


def _told(title: str, profile: Profile, most: int = TOP) -> str:
    ours = [(name, count) for name, count in profile.inclusive.most_common() if _interesting(name)]
    lines = [
        f"## {title}\n",
        f"{profile.samples:,} samples.\n",
        "| with callees | % | itself | % |",
        "|---|---|---|---|",
    ]
    total = max(1, profile.samples)
    for (name, count), (leaf, own) in zip(ours[:most], profile.own.most_common(most), strict=False):
        lines.append(f"| `{name}` | {100 * count / total:.1f} | `{leaf}` | {100 * own / total:.1f} |")
    return "\n".join(lines) + "\n"


def _interesting(name: str) -> bool:
    """Not the frames that every stack begins with."""
    plumbing = (
        "<module>",
        "_run_",
        "main (",
        "run_command (",
        "command.<locals>",
        "LazyGroup.",
        "run (cli",
        "_run_worker (",
    )
    return not name.startswith(plumbing) and not re.search(
        r"\((click|multiprocessing|threading|concurrent)\b", name
    )


def _imports(command: Sequence[str], root: Path, env: dict[str, str], runs: int = 7) -> str:
    """What a cold query imports, by Python's own account: own time of the modules of each package, the best of some."""
    line = [command[0], "-X", "importtime", *command[1:]]
    best: dict[str, int] = {}
    for _ in range(runs):
        done = subprocess.run(line, cwd=root, env=env, capture_output=True, text=True, check=True)
        for name, micro in import_times(done.stderr).items():
            best[name] = min(micro, best.get(name, micro))
    bare = summary([child([sys.executable, "-c", "pass"], root, env).wall for _ in range(runs)])
    lines = ["Imports of the same command, own time by package:\n", "| package | ms |", "|---|---|"]
    lines += [f"| `{name}` | {micro / 1000:.1f} |" for name, micro in Counter(best).most_common(TOP)]
    lines.append(f"| all {len(best)} packages | {sum(best.values()) / 1000:.1f} |")
    return "\n".join(lines) + f"\n\nStarting and ending Python itself, at best: {show(bare.low)}.\n"


def import_times(told: str) -> Counter[str]:
    """Microseconds by top-level package, from what `-X importtime` prints."""
    own: Counter[str] = Counter()
    for text in told.splitlines():
        found = re.match(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", text)
        if found:
            own[found[2].partition(".")[0]] += int(found[1])
    return own


def _fetch(spy: Tool, cache: Path, root: Path) -> Profile:
    """A teammate's first fetch, from a directory instead of a server: the client's own work."""
    work = cache / "profile"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    clone = work / "clone"
    subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
    corpus.git(clone, "remote", "remove", "origin")
    (work / "remote").mkdir()
    shared = {"GITINDEX_REMOTE": f"file://{work / 'remote'}"}
    ci = {**environment(work / "ci"), **shared, "GITINDEX_SIGNING_KEY_FILE": str(work / "key")}
    mate = {**environment(work / "mate"), **shared}
    for command, env in (
        (("keys", "new", str(work / "key")), ci),
        (("build", "--no-semantic"), ci),
        (("push",), ci),
        (("trust", "add", str(work / "key.pub")), mate),
    ):
        child(gitindex(*command), clone, env)
    return _spied(spy, cache, gitindex("fetch"), clone, mate)


def _hook(cache: Path, root: Path) -> str:
    """What git itself says the hook took, over commits with and without it."""
    work = cache / "profile-hook"
    shutil.rmtree(work, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(root), str(work)], check=True)
    worker = cache / "profile-worker"
    worker.write_text("#!/bin/sh\nexit 0\n")
    worker.chmod(0o755)
    found = discover(work)
    assert found is not None
    install(found, python=str(worker))
    hooks, whole = [], []
    for number in range(20):
        (work / "profiled.txt").write_text(f"{number}\n")
        corpus.git(work, "add", "profiled.txt")
        trace = cache / "profile.trace"
        trace.unlink(missing_ok=True)
        subprocess.run(
            [
                "git",
                "-C",
                str(work),
                "-c",
                "user.name=bench",
                "-c",
                "user.email=bench@example.com",
                "commit",
                "-qm",
                "x",
            ],
            env={**environment(cache / "homes" / "profile"), "GIT_TRACE2_PERF": str(trace)},
            check=True,
        )
        spent, total = trace_times(trace.read_text())
        hooks.append(spent)
        whole.append(total)
    lines = ["## Hook\n", "By `GIT_TRACE2_PERF`, a worker that exits at once; medians of 20 commits:\n"]
    lines += ["| | |", "|---|---|", f"| hook processes, from start to exit | {show(summary(hooks).median)} |"]
    return "\n".join([*lines, f"| the whole `git commit` | {show(summary(whole).median)} |"]) + "\n"


def trace_times(trace: str) -> tuple[float, float]:
    """Seconds in hooks, and of the command: columns are separated by `|`, the relative time stands in its own."""
    hooks, total, started = 0.0, 0.0, set()
    for line in trace.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 9:
            continue
        event, absolute, relative, told = cells[3], cells[5], cells[6], cells[8]
        number = re.search(r"\[ch(\d+)\]", told)
        if event == "child_start" and "class:hook" in told and number:
            started.add((cells[1], number[1]))
        elif event == "child_exit" and number and (cells[1], number[1]) in started:
            hooks += float(relative)
        elif event == "exit" and cells[1] == "d0":
            total = float(absolute)
    return hooks, total

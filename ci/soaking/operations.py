"""What can happen to a repository and its index. Every function takes the world and does one thing to it.

An operation that git refuses (a conflict, nothing to commit) is undone or does nothing, as for a person.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable

from gitindex.errors import LeaseHeld
from gitindex.git.repo import discover
from gitindex.hooks.install import install, uninstall
from gitindex.lifecycle import compact as compaction
from gitindex.lifecycle import gc as collection
from gitindex.model.moment import Moment
from gitindex.ops.maintain.repair import repair_store
from gitindex.store.steps import STEPS
from soaking.world import HIDDEN, IGNORE_FILE, PROCESSES, Violation, World

LATER = Moment(2**45)  # so far in the future that nothing is kept for its age alone
PATIENCE = 600  # seconds for a command on a busy machine
_DIE = """
import os, signal, sys
from pathlib import Path
from gitindex.config import Environment
from gitindex.lifecycle import compact, gc
from gitindex.model.moment import Moment
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.repair import repair_store
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.store import steps

operation, step, root, home = sys.argv[1:]
steps.observe(lambda reached: os.kill(os.getpid(), signal.SIGKILL) if reached == step else None)
codebase = open_codebase(Path(root), Environment(Path(home)))
if operation == "publish":
    sync(codebase, SyncOptions(workers=1))
elif operation == "compact":
    compact.compact(codebase.layout)
elif operation == "gc":
    gc.collect(codebase.layout, now=Moment(2**45))
else:
    repair_store(codebase)
"""


# -- files ------------------------------------------------------------------------------------------------


def edit(world: World) -> None:
    """Change one to three files."""
    files = world.files()
    for path in world.dice.sample(files, min(len(files), world.dice.randint(1, 3))):
        _append(world, path)


def rewrite(world: World) -> None:
    """Replace a file by one of equal length: sizes tell nothing."""
    if files := world.files():
        path = world.dice.choice(files)
        text = (world.root / path).read_text()
        old = next((word for word in reversed(world.words) if word in text), None)
        if old is not None:
            world.write(path, text.replace(old, world.word()))


def burst(world: World) -> None:
    """A tool touches many files at once."""
    files = world.files()
    for path in world.dice.sample(files, min(len(files), 20)):
        _append(world, path)


def create(world: World) -> None:
    world.write(world.new_path(), world.body())


def remove(world: World) -> None:
    files = world.files()
    if len(files) > 20:
        (world.root / world.dice.choice(files)).unlink()


def rename(world: World) -> None:
    if files := world.files():
        old = world.dice.choice(files)
        new = world.root / world.new_path()
        new.parent.mkdir(parents=True, exist_ok=True)
        os.replace(world.root / old, new.with_suffix(os.path.splitext(old)[1]))


def copy(world: World) -> None:
    if files := world.files():
        old = world.root / world.dice.choice(files)
        shutil.copyfile(old, old.with_name(f"c{world.dice.randrange(10**6)}{old.suffix}"))


def touch(world: World) -> None:
    """New times and modes, same contents."""
    if files := world.files():
        path = world.root / world.dice.choice(files)
        os.utime(path)
        path.chmod(path.stat().st_mode ^ 0o111)


def ignore(world: World) -> None:
    """Rules come and go; what they hide must go and come back."""
    hides = (world.root / IGNORE_FILE).exists() and HIDDEN in (world.root / IGNORE_FILE).read_text()
    world.write(IGNORE_FILE, "# nothing\n" if hides else f"{HIDDEN}\n")


def _append(world: World, path: str) -> None:
    suffix = os.path.splitext(path)[1]
    with (world.root / path).open("a") as handle:
        handle.write(world.body(suffix))


# -- git --------------------------------------------------------------------------------------------------


def commit(world: World) -> None:
    world.git("add", "-A")
    world.git("commit", "-q", "--allow-empty", "-m", "change")
    world.awaited = world.hooks


def amend(world: World) -> None:
    world.git("add", "-A")
    world.git("commit", "-q", "--amend", "--allow-empty", "-m", "amended")
    world.awaited = world.hooks


def switch(world: World) -> None:
    """To another branch, made where there is none; what is uncommitted is committed first, as people do."""
    commit(world)
    name = world.dice.choice(("main", "one", "two", "three"))
    if world.git("branch", "--list", name):
        world.git("switch", "-q", name)
    else:
        world.git("switch", "-q", "-c", name)
    world.awaited = world.hooks


def merge(world: World) -> None:
    commit(world)
    other = world.dice.choice(world.git("branch", "--format=%(refname:short)").split())
    world.git("merge", "-q", "-m", "merge", other, check=False)
    _resolve(world, "merge")


def rebase(world: World) -> None:
    commit(world)
    other = world.dice.choice(world.git("branch", "--format=%(refname:short)").split())
    world.git("rebase", "-q", other, check=False)
    _resolve(world, "rebase")


def _resolve(world: World, what: str) -> None:
    """A conflict is sometimes synced as it lies there, and then given up."""
    git_dir = world.root / ".git"
    if (git_dir / "MERGE_HEAD").exists() or (git_dir / "rebase-merge").exists():
        if world.dice.random() < 0.5 and not world.hooks:
            world.sync()
        world.git(what, "--abort")
    world.awaited = False  # an aborted one ends without a hook


def reset(world: World) -> None:
    """Back in history, as after a force-push; git has no hook for it."""
    past = world.git("rev-list", "--max-count=8", "HEAD").split()
    world.git("reset", "-q", "--hard", world.dice.choice(past))
    world.git("clean", "-q", "-fd")
    world.awaited = False


def stash(world: World) -> None:
    world.git("stash", "-q", "-u", check=False)
    if world.dice.random() < 0.7 and not world.hooks:
        world.sync()
    world.git("stash", "pop", "-q", check=False)
    world.git("stash", "clear")
    world.awaited = False


# -- the index --------------------------------------------------------------------------------------------


def sync(world: World) -> None:
    world.sync()


def sync_full(world: World) -> None:
    world.sync(full=True)


def sync_committed(world: World) -> None:
    world.sync(commit_only=True)


def sync_fresh(world: World) -> None:
    _ended(world, world.program("sync"))


def race(world: World) -> None:
    """Several writers at once: one publishes at a time, nobody's work is lost (LE-2)."""
    edit(world)
    processes = [world.program("sync") for _ in range(world.dice.randint(2, 4))]
    taken = world.contents()
    for process in processes:
        _ended(world, process)
    world.possible = [] if world.hooks else [taken]


def _ended(world: World, process) -> None:
    taken = world.contents()
    _, err = process.communicate(timeout=PATIENCE)
    if process.returncode:
        raise Violation(f"{process.args} ended with {process.returncode}: {err.decode()[-2000:]}")
    world.possible = [] if world.hooks else [taken]


def gc(world: World) -> None:
    """Collect as if everything were old; afterwards nothing is left that no manifest names (SN-9)."""
    try:
        collection.collect(world.codebase.layout, wait=10.0, now=LATER)
    except LeaseHeld:
        if not world.hooks:
            raise
    else:
        left = collection.plan(world.codebase.layout, LATER).paths if not world.hooks else ()
        if left:
            raise Violation(f"gc left {[path.name for path in left]}")


def compact(world: World) -> None:
    """All segments into one, or only the small ones among themselves."""
    merge = world.dice.choice((compaction.compact, compaction.compact_deltas))
    try:
        merge(world.codebase.layout, wait=10.0)
    except LeaseHeld:
        if not world.hooks:
            raise


def repair(world: World) -> None:
    """With nothing broken there is nothing to repair."""
    report = repair_store(world.codebase)
    if report.damaged:
        raise Violation(f"repair found damage nobody did: {report}")


def worktree(world: World) -> None:
    """A second worktree starts from this one's index and sees its own files only (ST-4)."""
    other = world.base / "second"
    world.git("worktree", "add", "-q", "--detach", str(other), "HEAD")
    process = world.start([sys.executable, "-m", "gitindex", "sync", "--json", "--path", str(other)])
    _, err = process.communicate(timeout=PATIENCE)
    world.git("worktree", "remove", "--force", str(other))
    if process.returncode:
        raise Violation(f"sync of a second worktree: {err.decode()[-2000:]}")


# -- kills ------------------------------------------------------------------------------------------------


def kill_at_step(world: World) -> None:
    """SIGKILL right before a named step of a publish, compaction, collection."""
    operation = world.dice.choice(("publish", "publish", "compact", "gc"))
    step = world.dice.choice((*STEPS[operation], *(STEPS["publish"] if operation == "compact" else ())))
    if operation == "publish":
        edit(world)
    command = [sys.executable, "-c", _DIE, operation, step, str(world.root), str(world.home)]
    process = world.start(command)
    taken = world.contents()
    _, err = process.communicate(timeout=PATIENCE)
    if process.returncode not in (0, -signal.SIGKILL) and not world.hooks:
        raise Violation(f"{operation} until {step} ended with {process.returncode}: {err.decode()[-2000:]}")
    _maybe(world, operation == "publish", taken)


def kill_at_random(world: World) -> None:
    """SIGKILL at any moment of a real command."""
    edit(world)
    name = world.dice.choice(("sync", "sync", "compact", "gc"))
    process = world.program(name)
    taken = world.contents()
    time.sleep(world.dice.uniform(0.05, 0.9))
    process.kill()
    process.communicate()
    _maybe(world, name == "sync", taken)


def _maybe(world: World, published: bool, taken: dict[str, str]) -> None:
    if world.hooks:
        world.possible = []
    elif published:
        world.possible.append(taken)


def kill_worker(world: World) -> None:
    """SIGKILL whatever runs in the background."""
    for pid in world.workers():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    world.awaited = False


# -- hooks ------------------------------------------------------------------------------------------------


def hooks(world: World) -> None:
    """Install, or remove and wait for the last worker."""
    found = discover(world.root)
    assert found is not None
    if world.hooks:
        uninstall(found)
        world.quiet()
        world.hooks = world.awaited = False
        world.sync()
    else:
        install(found, python=sys.executable)
        world.hooks, world.possible = True, []


Operation = Callable[[World], None]
_WATCHED = 2 if PROCESSES.exists() else 0  # else nobody could tell when the workers rest
WEIGHTS: dict[Operation, int] = {
    edit: 14, rewrite: 5, burst: 3, create: 6, remove: 5, rename: 6, copy: 3, touch: 3, ignore: 3,
    commit: 9, amend: 3, switch: 5, merge: 3, rebase: 4, reset: 3, stash: 2,
    sync: 22, sync_full: 1, sync_committed: 3, sync_fresh: 3, race: 1,
    gc: 3, compact: 3, repair: 1, worktree: 1, kill_at_step: 4, kill_at_random: 3, kill_worker: 1, hooks: _WATCHED,
}  # fmt: skip


def choose(world: World) -> Operation:
    """The next thing to happen. Stretches with hooks are shorter: there the contents cannot be compared exactly."""
    weights = {**WEIGHTS, hooks: 6} if world.hooks else WEIGHTS
    (chosen,) = world.dice.choices(list(weights), list(weights.values()))
    return chosen

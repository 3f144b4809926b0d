"""What must hold after every operation. Each check raises Violation; none of them changes anything but `awaited`."""

from __future__ import annotations

import shutil
import time
from collections import Counter

from gitindex.config import Environment
from gitindex.errors import Gated
from gitindex.lifecycle.digest import compute_digest
from gitindex.ops.answers.search_answer import QueryAnswer, query
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.audit import audit
from gitindex.ops.maintain.index_status import status
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.search.request import Request
from gitindex.store import manifests
from gitindex.view.snapshot import open_active
from soaking.world import WORD, Contents, Violation, World

CLEAN_EVERY = 25
EXACT = ("lexical", "lexical", "regex")
ANY = ("hybrid", "semantic", "symbol")


def check(world: World, number: int, told: Counter[str]) -> None:
    """Everything cheap after each step, everything else every `CLEAN_EVERY` steps."""
    whole(world, told)
    if world.hooks:
        one_worker(world, told)
    if world.possible:
        live_only(world, told)
    honest(world, told)
    if number % CLEAN_EVERY == 0:
        if world.hooks:
            woken(world, told)
        same_as_clean(world, told)


def whole(world: World, told: Counter[str]) -> None:
    """The active snapshot is whole, its layers agree, and leases only go forward (SN-4, SN-7, LE-1).

    A store of which no file changed since it was proven is not read again: the audit looks at nothing else.
    """
    stamp = world.stamp()
    if stamp is not None and stamp == world.proven:
        told["stores untouched"] += 1
        return
    told["audits"] += 1
    problems = audit(world.codebase).problems
    if problems:
        raise Violation(f"audit: {problems}")
    manifest = manifests.read_active(world.codebase.layout)
    if manifest is None or manifest.lease_epoch < world.epoch:
        raise Violation(f"the lease epoch fell from {world.epoch} to {manifest and manifest.lease_epoch}")
    world.epoch = manifest.lease_epoch
    world.proven = stamp


def one_worker(world: World, told: Counter[str]) -> None:
    """A second worker leaves as soon as it sees the first (HK-3)."""
    told["worker counts"] += 1
    deadline = time.monotonic() + 60
    while len(world.workers()) > 1:
        if time.monotonic() > deadline:
            raise Violation(f"several workers: {world.workers()}")
        time.sleep(0.05)


def live_only(world: World, told: Counter[str]) -> None:
    """Answers come from the live contents: nothing else, and in exact modes nothing less (SN-6)."""
    word = world.dice.choice(world.words[-60:] if world.dice.random() < 0.5 else world.words)
    exact = world.dice.random() < 0.7
    mode = world.dice.choice(EXACT if exact else ANY)
    answer = _ask(world, word, mode)
    told[f"{mode} queries"] += 1
    verdicts = [(state, _misfit(answer, state, word, complete=exact)) for state in world.possible]
    fitting = [state for state, wrong in verdicts if wrong is None]
    if not fitting:
        raise Violation(f"{mode} search for {word}: " + " or ".join(str(wrong) for _, wrong in verdicts))
    world.possible = fitting


def _ask(world: World, word: str, mode: str) -> QueryAnswer:
    try:
        return query(world.codebase, Request(word, mode=mode, limit=200))
    except Gated as gated:
        raise Violation(f"gated: {gated.message}") from gated


def _misfit(answer: QueryAnswer, state: Contents, word: str, *, complete: bool) -> str | None:
    """What is wrong with an answer from these contents; None: nothing."""
    if answer.result.degraded:
        return f"degraded: {answer.result.degraded}"
    for hit in answer.result.hits:
        text = state.get(hit.path)
        if text is None:
            return f"{hit.path} is not live"
        if alien := [name for name in WORD.findall(hit.snippet) if name not in text]:
            return f"{hit.path} has no {alien[0]}"
    found, wanted = {hit.path for hit in answer.result.hits}, _holders(state, word)
    if complete and found != wanted and not (answer.result.left_out and found < wanted):
        return f"found {sorted(found)}, the contents say {sorted(wanted)}"
    return None


def _holders(state: Contents, word: str) -> set[str]:
    return {path for path, text in state.items() if word in text}


def honest(world: World, told: Counter[str]) -> None:
    """`in_sync` is said only when it is so, and pending work is seen (QU-6, CS-5)."""
    told["status answers"] += 1
    claimed = status(world.codebase)
    if claimed.status not in ("ok", "not_ready"):
        raise Violation(f"status: {claimed.status} {claimed.problems}")
    indexed_commit = claimed.truth.freshness.indexed_commit if claimed.truth else None
    if claimed.in_sync and indexed_commit != world.head():
        raise Violation(f"in sync at {indexed_commit}, but HEAD is {world.head()}")
    if claimed.in_sync and world.possible and world.contents() not in world.possible:
        raise Violation("in sync is claimed for contents that were never indexed")


def woken(world: World, told: Counter[str]) -> None:
    """Once the workers rest, the commit that hooks spoke of is indexed: no wake-up is lost (HK-3)."""
    told["wake-ups"] += 1
    world.quiet()
    manifest = manifests.read_active(world.codebase.layout)
    if world.awaited and (manifest is None or manifest.git.head_sha != world.head()):
        raise Violation(
            f"hooks fired for {world.head()}, the index is at {manifest and manifest.git.head_sha}"
        )
    world.awaited = False


def same_as_clean(world: World, told: Counter[str]) -> None:
    """After a sync the live view is that of a build from nothing, and a second sync has nothing to do (SN-10)."""
    told["clean builds"] += 1
    world.sync()
    if not world.hooks and world.sync():
        raise Violation("a second sync found something to do")
    scratch = world.base / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    clean = open_codebase(world.root, Environment(scratch))
    sync(clean, SyncOptions(workers=1))
    with open_active(world.codebase.layout) as ours, open_active(clean.layout) as theirs:
        mine, other = compute_digest(ours), compute_digest(theirs)
    if mine != other:
        raise Violation(f"the digest is {mine}, a clean build's {other}")

"""Short names for what most tests of the core do: open, sync, digest, and the command line in this process."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitindex.cli.boundary import run_command
from gitindex.cli.main import group
from gitindex.config import Environment, load_environment
from gitindex.lifecycle.digest import Digest, compute_digest
from gitindex.model.moment import Moment
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.maintain.audit import Audit, audit
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.ops.syncing.sync_report import SyncReport
from gitindex.view.snapshot import SnapshotView, open_active

LATER = Moment(2**45, "another start of the machine")  # for collections: everything was replaced long ago
FEW = {"workers": 1, "lease_wait": 5.0}


def codebase(root: Path, home: Path | None = None) -> Codebase:
    """By default the test's own home; another `home` is another place for the same user's stores."""
    known = load_environment()
    return open_codebase(root, Environment(home, user=known.user) if home else known)


def index(root: Path, home: Path | None = None, **options: Any) -> SyncReport:
    return sync(codebase(root, home), SyncOptions(**{**FEW, **options}))


def view(root: Path, home: Path | None = None) -> SnapshotView:
    found = open_active(codebase(root, home).layout)
    assert found is not None, "not indexed"
    return found


def digest_of(root: Path, home: Path | None = None) -> Digest:
    with view(root, home) as opened:
        return compute_digest(opened)


def audited(root: Path, home: Path | None = None) -> Audit:
    return audit(codebase(root, home))


def clean_digest(root: Path, scratch: Path, **options: Any) -> Digest:
    """The digest of a build from nothing in a home of its own."""
    shutil.rmtree(scratch, ignore_errors=True)
    index(root, scratch, **options)
    return digest_of(root, scratch)


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def cli(*arguments: str) -> Ran:
    """One command line, in this process, through the real boundary."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_command(group, arguments)
    return Ran(code, out.getvalue(), err.getvalue())

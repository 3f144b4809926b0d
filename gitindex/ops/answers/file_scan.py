"""Searching the files themselves, when there is no index to ask (QU-5)."""

from __future__ import annotations

from gitindex import config
from gitindex.ops.codebase import Codebase, read_root_file
from gitindex.ops.syncing.eligibility import make_policy
from gitindex.ops.syncing.git_fallback import scan_if_git_fails
from gitindex.ops.syncing.sync_plan import SyncOptions, open_source
from gitindex.search.fallback import Scan
from gitindex.search.hit import SearchAnswer
from gitindex.search.request import Request


def scan(codebase: Codebase, request: Request, reason: str) -> SearchAnswer:
    """Answer from the eligible files, marked degraded with the reason. Raises UsageError, GitError."""
    policy = make_policy(codebase.settings, read_root_file(codebase.root, config.IGNORE_NAME))

    def search(options: SyncOptions) -> SearchAnswer:
        with open_source(codebase, options, bulk=True) as source:
            return Scan(source, policy, codebase.root, codebase.settings.query).search(request, reason)

    return scan_if_git_fails(codebase, SyncOptions(), search)

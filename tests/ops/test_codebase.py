"""`ops.codebase`: who decides which working files are indexed (ST-3, CF-1)."""

from __future__ import annotations

import pytest

from gitindex.model.settings import IndexSettings
from gitindex.ops.codebase import _restrict_working_files
from gitindex.userconfig import UserConfig


@pytest.mark.parametrize(
    ("asked", "shared", "untracked"),
    [
        (None, False, True),
        (None, True, False),
        (True, True, True),
        (True, False, True),
        (False, False, False),
        (False, True, False),
    ],
)
def test_only_the_user_lets_untracked_files_into_a_shared_store(
    asked: bool | None, shared: bool, untracked: bool
):
    """ST-3: scratch files are not the group's unless somebody says so."""
    user = UserConfig(include_untracked=asked)
    assert _restrict_working_files(IndexSettings(), user, shared=shared).untracked is untracked
    assert not _restrict_working_files(IndexSettings(untracked=False), user, shared=shared).untracked


@pytest.mark.parametrize(("repository", "user"), [(True, False), (False, True), (True, True)])
def test_either_side_restricts_the_index_to_commits(repository: bool, user: bool):
    """CF-1: and then no untracked file is indexed, whatever else is said."""
    settings = _restrict_working_files(
        IndexSettings(clean_only=repository),
        UserConfig(clean_only=user, include_untracked=True),
        shared=False,
    )
    assert (settings.clean_only, settings.untracked) == (True, False)

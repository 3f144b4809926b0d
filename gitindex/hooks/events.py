"""The four git events that start a sync, and how to recognise them under pre-commit.

A hook is a hint that HEAD may have moved, never a description of what changed: the worker compares trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

POST_COMMIT: Final = "post-commit"
POST_CHECKOUT: Final = "post-checkout"
POST_MERGE: Final = "post-merge"
POST_REWRITE: Final = "post-rewrite"

EVENTS: Final = (POST_COMMIT, POST_CHECKOUT, POST_MERGE, POST_REWRITE)

# pre-commit does not name the stage to a hook; these variables are set in one stage each.
_STAGE_VARIABLES: Final = {
    "PRE_COMMIT_CHECKOUT_TYPE": POST_CHECKOUT,
    "PRE_COMMIT_IS_SQUASH_MERGE": POST_MERGE,
    "PRE_COMMIT_REWRITE_COMMAND": POST_REWRITE,
}


def detect_pre_commit_event(environ: Mapping[str, str]) -> str:
    """The event whose stage pre-commit is running."""
    for variable, event in _STAGE_VARIABLES.items():
        if environ.get(variable):
            return event
    return POST_COMMIT

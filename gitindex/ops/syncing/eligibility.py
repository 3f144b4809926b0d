"""The eligibility policy of a codebase: its settings and its ignore rules."""

from __future__ import annotations

from gitindex import config
from gitindex.files.ignore import Ignore, IgnoreRules
from gitindex.files.policy import EligibilityPolicy
from gitindex.model.settings import Settings


def make_policy(settings: Settings, ignore: bytes | None) -> EligibilityPolicy:
    rules = [IgnoreRules.parse("", ignore, config.IGNORE_NAME)] if ignore else []
    return EligibilityPolicy(settings.index, Ignore(rules))

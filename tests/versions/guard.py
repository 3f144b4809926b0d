"""A version and what it stands for over fixed samples, and the comparison of both with what is recorded.

A sample has an input and a result. A version stands for how one becomes the other: when the result changes and the
input does not, the version has to change too. A new or edited sample only has to be recorded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

TABLE = "gitindex/model/versions.py"
COMMAND = "python -m tests.versions.record"
RECORDED = Path(__file__).with_name("recorded.json")


class Sample(NamedTuple):
    given: Any
    result: Any


class Guard(NamedTuple):
    """One constant of the table."""

    constant: str
    version: str
    samples: Callable[[], Mapping[str, Sample]]


class Entry(NamedTuple):
    """What `recorded.json` holds of a guard: for every sample the digests of its input and of its result."""

    version: str
    digests: dict[str, tuple[str, str]]


def measure(guard: Guard) -> Entry:
    return Entry(
        guard.version,
        {name: (digest(item.given), digest(item.result)) for name, item in guard.samples().items()},
    )


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=_plain)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"no sample can hold {value!r}")


def read_recorded() -> dict[str, Entry]:
    data = json.loads(RECORDED.read_text("utf-8"))
    return {
        constant: Entry(item["version"], {name: tuple(pair) for name, pair in item["samples"].items()})
        for constant, item in data.items()
    }


def write_recorded(entries: Mapping[str, Entry]) -> None:
    data = {
        constant: {"version": entry.version, "samples": entry.digests} for constant, entry in entries.items()
    }
    RECORDED.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "utf-8")


def changed_samples(before: Entry, now: Entry) -> list[str]:
    """Samples whose input is as recorded and whose result is not."""
    return [
        name
        for name, (given, result) in now.digests.items()
        if name in before.digests and before.digests[name][0] == given and before.digests[name][1] != result
    ]


def find_fault(constant: str, before: Entry | None, now: Entry) -> str:
    """What to do about a guard, "" when nothing: the constant, the place and the command."""
    if before is None:
        return f"{constant} is not recorded: run `{COMMAND}` and commit {RECORDED.name}"
    changed = changed_samples(before, now)
    if changed and before.version == now.version:
        return (
            f"what {constant} = {now.version!r} stands for has changed ({', '.join(changed)}). Stores and answers made "
            f"before would be taken for new ones: raise {constant} in {TABLE}, then run `{COMMAND}` and commit "
            f"{RECORDED.name}. If nothing was meant to change, find what did."
        )
    if before != now:
        return (
            f"{constant} is {now.version!r} with other samples than those recorded for {before.version!r}: run "
            f"`{COMMAND}` and commit {RECORDED.name}"
        )
    return ""

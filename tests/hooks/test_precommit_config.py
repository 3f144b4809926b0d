"""HK-1: our entry in the user's `.pre-commit-config.yaml`, with every other byte kept."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from pathlib import Path

import click
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitindex.cli.boundary import run_command
from gitindex.errors import HookError
from gitindex.hooks import precommit
from gitindex.hooks.events import EVENTS

REV = "v0.1.0"

BLOCK = """\
# our rules
default_language_version:
    python: python3.11   # pinned
repos:
-   repo: https://example.com/a   # first
    rev: '1.0'
    hooks:
    -   id: a
        args: [--fix,   --quiet]
    # a comment about b
    -   id: b

# the end
"""
WAYS = {
    "block": BLOCK,
    "indented": "repos:\n  - repo: local\n    hooks:\n      - id: x\n        entry: |\n          a\n",
    "key after": "repos:\n- repo: local\n  hooks:\n  - {id: x}\nfail_fast: true\n",
    "no final newline": "repos:\n- repo: local\n  hooks: [{id: x}]",
    "windows": "repos:\r\n- repo: local\r\n  hooks:\r\n  - id: x\r\n",
    "empty list": "repos: []\n",
    "flow": 'repos: [ {"repo": "local", "hooks": []}, ]  # all\n',
    "no value": "repos:\nfail_fast: false\n",
    "no repos": "fail_fast: false\n",
    "document start": "---\nrepos:\n- repo: meta\n  hooks:\n  - id: identity\n",
    "types in flow": "default_install_hook_types: [pre-commit, post-merge]\nrepos: []\n",
    "types in block": "default_install_hook_types:\n- pre-push  # only\nrepos: []\n",
    "types complete": f"default_install_hook_types: [{', '.join(EVENTS)}]\nrepos: []\n",
}


@pytest.mark.parametrize("way", WAYS)
def test_adds_and_changes_nothing_else(way: str) -> None:
    before = WAYS[way]
    after = precommit.add(before, REV)
    old, new = yaml.safe_load(before), yaml.safe_load(after)
    added = new["repos"][-1]
    assert added == {"repo": precommit.SOURCE, "rev": REV, "hooks": [{"id": "gitindex"}]}
    assert new["repos"][:-1] == (old.get("repos") or [])
    assert set(EVENTS) <= set(new["default_install_hook_types"])
    assert _is_subsequence(before, after), "every byte of the user is still there, in order"
    assert precommit.add(after, REV) == after
    assert ("\r\n" in before) == ("\r\n" in after)
    assert "\n" not in after.replace("\r\n", "") or "\r\n" not in before


def test_comments_stay_where_they_were() -> None:
    after = precommit.add(BLOCK, REV)
    lines = after.splitlines()
    assert lines[0] == "# our rules"
    assert lines.index("    -   id: b") + 1 == lines.index(f"- repo: {precommit.SOURCE}")
    assert lines[-1] == "# the end"


def test_a_new_file_is_complete() -> None:
    assert yaml.safe_load(precommit.add("", REV))["repos"][0]["hooks"] == [{"id": "gitindex"}]


@pytest.mark.parametrize(
    "text",
    [
        "- a list\n",
        "repos: nonsense\n",
        "{repos: []}\n",
        "repos: [\n",
        "repos: &x []\nother: *x\n",
        "x: &x []\nrepos: *x\n",
    ],
)
def test_what_cannot_be_extended_safely_is_left_alone(text: str) -> None:
    """The error holds what to paste, beside its one line; the boundary prints it as lines."""
    with pytest.raises(HookError, match="add this by hand") as refused:
        precommit.add(text, REV)
    assert refused.value.message.isprintable()

    def fail() -> None:
        raise refused.value

    shown = io.StringIO()
    with redirect_stderr(shown):
        assert run_command(click.Command("x", callback=fail), []) == 1
    assert any(line.strip() == "- id: gitindex" for line in shown.getvalue().splitlines())


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "repo": st.text("ab:/#'\" -", min_size=1, max_size=8),
                "hooks": st.lists(
                    st.fixed_dictionaries({"id": st.text("xyz#:", min_size=1, max_size=4)}), max_size=3
                ),
            }
        ),
        max_size=4,
    ),
    st.booleans(),
    st.sampled_from([2, 4]),
)
def test_any_configuration_gains_exactly_one_entry(repos: list[object], flow: bool, indent: int) -> None:
    before = yaml.safe_dump(
        {"fail_fast": True, "repos": repos}, default_flow_style=flow or None, indent=indent
    )
    if before.startswith("{"):
        return
    after = precommit.add(before, REV)
    assert yaml.safe_load(after)["repos"] == [
        *repos,
        yaml.safe_load(precommit.render_config(REV))["repos"][0],
    ]
    assert _is_subsequence(before, after)


def test_events(tmp_path: Path) -> None:
    assert precommit.configured_events(tmp_path) == frozenset()
    path = tmp_path / precommit.CONFIG
    path.write_text(precommit.render_config(REV))
    assert precommit.configured_events(tmp_path) == set(EVENTS)
    path.write_text(
        "repos: [{repo: local, hooks: [{id: x, entry: gitindex hooks run, stages: [post-merge]}]}]\n"
    )
    assert precommit.configured_events(tmp_path) == {"post-merge"}
    path.write_text("repos: [")
    with pytest.raises(HookError, match="not understood: line 1"):
        precommit.configured_events(tmp_path)


def _is_subsequence(small: str, large: str) -> bool:
    rest = iter(large)
    return all(character in rest for character in small)

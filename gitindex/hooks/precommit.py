"""Finds our hook in the user's `.pre-commit-config.yaml`, or adds it without changing another byte.

The text is edited, not dumped: comments, quotes and spacing stay. Invariant: the parsed result is the old document
plus our entries, or HookError says what to paste. The file comes with the repository: it is read under limits
(`boundedyaml`), and a link in its place is not followed.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from gitindex.errors import HookError
from gitindex.files.safeopen import ReadError, Root, Vanished
from gitindex.hooks import boundedyaml
from gitindex.hooks.boundedyaml import YamlAlias, YamlDocument, YamlNotUnderstood
from gitindex.hooks.events import EVENTS
from gitindex.hooks.hookfile import replace_text

CONFIG = ".pre-commit-config.yaml"
SOURCE = "https://github.com/gitindex/gitindex"
IDS = ("gitindex", "gitindex-system")
_TYPES = "default_install_hook_types"


def render_config(rev: str, hook: str = IDS[0]) -> str:
    """A complete configuration with our hook alone."""
    return f"{_types_line()}\nrepos:\n{_render_item(rev, hook, '')}"


def configured_events(top: Path) -> frozenset[str]:
    """The events for which the configuration of the work tree runs our hook.

    Raises HookError for a configuration that is not understood.
    """
    text = _read(top)
    try:
        document = boundedyaml.load(text or "").value
    except YamlNotUnderstood as error:
        raise _config_error(str(error)) from error
    return frozenset(
        event for hook in _find_own_hooks(document) for event in EVENTS if event in _hook_stages(hook)
    )


def extend(top: Path, rev: str, hook: str = IDS[0]) -> None:
    """Add our hook to the configuration of the work tree. Raises HookError as `add` and `configured_events` do."""
    old_text = _read(top) or ""
    new_text = add(old_text, rev, hook)
    if new_text != old_text:
        path = top / CONFIG
        replace_text(path, new_text.encode(), stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644)


def _read(top: Path) -> str | None:
    """Raises HookError unless the file is a regular one, small enough, and UTF-8."""
    with Root(top) as root:
        try:
            descriptor = root.open(CONFIG.encode())
        except Vanished:
            return None
        except ReadError as error:
            raise _config_error(error.message) from error
    with open(descriptor, "rb") as handle:
        data = handle.read(boundedyaml.MAX_BYTES + 1)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _config_error("it is not UTF-8") from error


def _config_error(reason: str) -> HookError:
    return HookError(f"{CONFIG} is not understood: {reason}", hint=f"edit {CONFIG}")


def add(text: str, rev: str, hook: str = IDS[0]) -> str:
    """The configuration with our hook and the hook types it needs; unchanged when it is there already.

    Raises HookError when the text is not a configuration, or is written in a way we cannot extend safely.
    """
    if not text.strip():
        return render_config(rev, hook)
    try:
        document = boundedyaml.load(text)
        if _find_own_hooks(document.value):
            return text
        if _is_shared(document, "repos") or _is_shared(document, _TYPES):
            raise _UnclearError
        new_text = _add_types(_add_item(text, rev, hook))
        complete = boundedyaml.load(new_text).value == _expected_document(document.value, rev, hook)
    except (yaml.YAMLError, YamlNotUnderstood, _UnclearError) as error:
        raise _manual_edit_error(rev, hook) from error
    if not complete:
        raise _manual_edit_error(rev, hook)
    return new_text


class _UnclearError(Exception):
    """The text is valid, but there is no obvious place for an addition."""


def _manual_edit_error(rev: str, hook: str) -> HookError:
    return HookError(
        f"cannot extend {CONFIG} safely; add this by hand:",
        hint=f"edit {CONFIG}",
        example=render_config(rev, hook),
    )


def _find_own_hooks(document: object) -> list[dict[str, Any]]:
    """Our hooks in a parsed configuration, whatever repository they come from."""
    repos = _as_list(document.get("repos")) if isinstance(document, dict) else []
    entries = [repo for repo in repos if isinstance(repo, dict)]
    all_hooks = [hook for repo in entries for hook in _as_list(repo.get("hooks")) if isinstance(hook, dict)]
    return [
        hook for hook in all_hooks if hook.get("id") in IDS or "gitindex hooks run" in str(hook.get("entry"))
    ]


def _is_shared(document: YamlDocument, key: str) -> bool:
    """Whether the value of `key` is used elsewhere too: extending it would extend that as well."""
    value = document.value.get(key) if isinstance(document.value, dict) else None
    return key in document.anchored or isinstance(value, YamlAlias)


def _hook_stages(hook: dict[str, Any]) -> Sequence[Any]:
    """The stages of a hook: all our events without `stages`, none where it is not a list."""
    return _as_list(hook["stages"]) if "stages" in hook else EVENTS


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _expected_document(document: dict[str, Any], rev: str, hook: str) -> dict[str, Any]:
    types = document.get(_TYPES, ["pre-commit"])
    item = boundedyaml.load(_render_item(rev, hook, "")).value
    missing = [event for event in EVENTS if event not in types]
    return {**document, _TYPES: [*types, *missing], "repos": [*(document.get("repos") or []), *item]}


def _render_item(rev: str, hook: str, pad: str) -> str:
    lines = (f"- repo: {SOURCE}", f"  rev: {rev}", "  hooks:", f"    - id: {hook}")
    return "".join(f"{pad}{line}\n" for line in lines)


def _types_line() -> str:
    return f"{_TYPES}: [{', '.join(('pre-commit', *EVENTS))}]"


def _add_item(text: str, rev: str, hook: str) -> str:
    repos = _find_child(text, "repos")
    if repos is None:
        return _insert_lines(text, len(text), "repos:\n" + _render_item(rev, hook, ""))
    if isinstance(repos, yaml.SequenceNode) and repos.flow_style:
        return _insert_flow(text, repos, f"{{repo: {SOURCE!r}, rev: {rev!r}, hooks: [{{id: {hook}}}]}}")
    if isinstance(repos, yaml.SequenceNode):
        return _insert_lines(
            text, _content_end(text, repos), _render_item(rev, hook, " " * repos.start_mark.column)
        )
    if repos.value == "":
        return _insert_lines(text, repos.start_mark.index, _render_item(rev, hook, ""))
    raise _UnclearError


def _add_types(text: str) -> str:
    types = _find_child(text, _TYPES)
    if types is None:
        start = _compose_root(text).start_mark.index
        return text[:start] + _types_line() + _detect_newline(text) + text[start:]
    if not isinstance(types, yaml.SequenceNode):
        raise _UnclearError
    missing = [event for event in EVENTS if event not in [node.value for node in types.value]]
    if types.flow_style:
        return _insert_flow(text, types, ", ".join(missing)) if missing else text
    pad = " " * types.start_mark.column
    return _insert_lines(text, _content_end(text, types), "".join(f"{pad}- {event}\n" for event in missing))


def _compose_root(text: str) -> yaml.MappingNode:
    root = yaml.compose(text, yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode) or root.flow_style or root.start_mark.column:
        raise _UnclearError
    return root


def _find_child(text: str, key: str) -> yaml.Node | None:
    return next((value for name, value in _compose_root(text).value if name.value == key), None)


def _content_end(text: str, node: yaml.Node) -> int:
    """Where the last item of `node` ends; the end mark of a block itself lies after trailing comments."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last_item = node.value[-1]
        node = last_item[1] if isinstance(last_item, tuple) else last_item
    return len(text[: node.end_mark.index].rstrip())


def _insert_flow(text: str, node: yaml.SequenceNode, addition: str) -> str:
    position = node.end_mark.index - 1
    inside = text[node.start_mark.index + 1 : position].rstrip()
    position = node.start_mark.index + 1 + len(inside)
    return (
        text[:position] + (", " if inside and not inside.endswith(",") else "") + addition + text[position:]
    )


def _insert_lines(text: str, offset: int, lines: str) -> str:
    """Insert whole lines after the line that holds `offset`, with the line ends of the text."""
    lines = lines.replace("\n", _detect_newline(text))
    end = text.find("\n", offset)
    if end < 0 and not text.endswith("\n"):
        return text + _detect_newline(text) + lines.removesuffix(_detect_newline(text))
    position = len(text) if end < 0 else end + 1
    return text[:position] + lines + text[position:]


def _detect_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"

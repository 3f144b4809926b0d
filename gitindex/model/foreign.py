"""Escapes untrusted text before it is displayed. Nothing else in the package does.

Names, paths, URLs and answers of servers come from a repository or a remote. Printed unchanged, they could move the
cursor, reorder a line, add lines of their own, or run when a hint is copied. Only `quote_argument` and `json_text` keep
the exact value; the other functions lose it.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_MESSAGE = 2000  # of an error, which may quote several names
MAX_NAME = 200
# Control characters (C0, DEL, C1), bidirectional signs, invisible characters, line and paragraph separators.
_INVISIBLE = "\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_CONTROL_CHARS = re.compile(rf"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f{_INVISIBLE}]")
_UNESCAPED_CHARS = re.compile(f"[{_INVISIBLE}\u200c\u200d]")
_WIDE_SPACE = "\u3000"  # part of ordinary Japanese file names, although `isprintable` says no


def escape_controls(text: str) -> str:
    """Untrusted text of several lines: escapes characters that a terminal obeys, keeps line breaks."""
    return _CONTROL_CHARS.sub(lambda match: _escape_char(match[0]), text.removeprefix("\ufeff"))


def escape_line(text: str, max_chars: int = 0) -> str:
    """An untrusted name, path or message as one line; cut to `max_chars` characters unless that is 0."""
    shortened = text[:max_chars] + "…" if max_chars and len(text) > max_chars else text
    if shortened.isprintable():
        return shortened
    return "".join(
        char if char.isprintable() or char == _WIDE_SPACE else _escape_char(char) for char in shortened
    )


def quote_text(text: str, max_chars: int = MAX_NAME) -> str:
    """Untrusted text inside one of our sentences: in quotes, on one line, cut."""
    return '"' + escape_line(text.replace("\\", "\\\\").replace('"', '\\"'), max_chars) + '"'


def quote_argument(text: str) -> str:
    """One argument of a command to copy: the shell reads exactly `text`, and a terminal obeys none of it."""
    import shlex

    if text.isprintable():
        return shlex.quote(text)
    chars = (
        chr(byte) if 0x20 <= byte < 0x7F and chr(byte) not in "'\\" else f"\\{byte:03o}"
        for byte in _encode_text(text)
    )
    return "$'" + "".join(chars) + "'"


def _encode_text(text: str) -> bytes:
    """As the file system spells it; a character that no file name can hold is escaped."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON of the exact value; also escapes what JSON would leave raw and a terminal obeys."""
    return _UNESCAPED_CHARS.sub(_json_escape, json.dumps(value, ensure_ascii=False, indent=indent))


def _json_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def _escape_char(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no text
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

"""Text that somebody else wrote, made fit to be shown: the one door for it.

Names, paths, URLs and answers of servers come from a repository or a remote. Shown as they are, they could move the
cursor, reorder a line, paint lines of their own, or run when a hint is copied. Nothing here is reversible on purpose,
except `argument` and `json_text`, which keep the exact value.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_MESSAGE = 2000  # of an error, which may quote several names
MAX_NAME = 200
# Control characters (C0, DEL, C1), bidirectional signs, invisible characters, line and paragraph separators.
_INVISIBLE = "\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_COMMANDING = re.compile(rf"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f{_INVISIBLE}]")
_UNSPELLED = re.compile(f"[{_INVISIBLE}\u200c\u200d]")
_WIDE_SPACE = "\u3000"  # part of ordinary Japanese file names, although `isprintable` says no


def harmless(text: str) -> str:
    """Somebody's text of several lines: what would command a terminal is spelled out, lines stay lines."""
    return _COMMANDING.sub(lambda sign: _spelled(sign[0]), text.removeprefix("\ufeff"))


def one_line(text: str, most: int = 0) -> str:
    """Somebody's name, path or message as one line; cut to `most` characters unless that is 0."""
    cut = text[:most] + "…" if most and len(text) > most else text
    if cut.isprintable():
        return cut
    return "".join(sign if sign.isprintable() or sign == _WIDE_SPACE else _spelled(sign) for sign in cut)


def quoted(text: str, most: int = MAX_NAME) -> str:
    """Somebody's words inside a sentence of ours: marked as theirs, on one line, cut."""
    return '"' + one_line(text.replace("\\", "\\\\").replace('"', '\\"'), most) + '"'


def argument(text: str) -> str:
    """One argument of a command to copy: the shell sees exactly `text`, a terminal nothing that commands it."""
    import shlex

    if text.isprintable():
        return shlex.quote(text)
    signs = (
        chr(byte) if 0x20 <= byte < 0x7F and chr(byte) not in "'\\" else f"\\{byte:03o}"
        for byte in _bytes(text)
    )
    return "$'" + "".join(signs) + "'"


def _bytes(text: str) -> bytes:
    """As the file system would spell it; a sign that no file name can hold, in words."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON of the exact value; what JSON leaves raw and a terminal obeys is escaped."""
    return _UNSPELLED.sub(_json_escape, json.dumps(value, ensure_ascii=False, indent=indent))


def _json_escape(sign: re.Match[str]) -> str:
    return json.dumps(sign[0])[1:-1]


def _spelled(sign: str) -> str:
    code = ord(sign)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no text
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

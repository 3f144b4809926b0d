"""Bytes that made a parser grow, and generated relatives of them."""

from __future__ import annotations

import random
from collections.abc import Iterator

KIB = 1024
SIZES = (KIB, 8 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB)
SUFFIXES = (
    *(
        "py",
        "js",
        "ts",
        "tsx",
        "go",
        "java",
        "rs",
        "c",
        "cpp",
        "cs",
        "rb",
        "php",
        "kt",
        "swift",
        "scala",
        "lua",
        "sh",
    ),
    *("toml", "json", "yaml", "md"),
)
# Each repeated: most took quadratic time or memory in some grammar.
GROWTH = (
    *(
        "a<",
        "a|",
        "a<b,",
        "<",
        "**",
        "&",
        "*->",
        "a:a:",
        "a:",
        "(",
        "[",
        "{",
        "'",
        '"',
        "`",
        "a.b()",
        "/*",
        "//",
        "#",
    ),
    *(
        "\\",
        "@",
        "$",
        "${",
        "<<A\n",
        "=>",
        "->",
        "if x:",
        "a?b:",
        "!",
        "-",
        "~",
        "^",
        "%",
        "a=",
        "a,",
        ";",
        "\n",
        "\t",
    ),
    *(
        "<a>",
        "</",
        "<?php ",
        'r#"',
        "f(",
        "a[",
        "async ",
        "x y ",
        "\r",
        "\u00e9",
        "\u202e",
        "'''",
        '"""',
        "|a|",
        "::",
    ),
    *(
        "case ",
        "match ",
        "where ",
        "template<",
        "#if\n",
        "#define a ",
        "@a(",
        "{{",
        "}}",
        "a{b:",
        "- ",
        "? ",
        "&a *a ",
    ),
)
_PIECES = "abx01 \n\t()[]{}<>=+-*/&|^!~?:;,.@#$%\\'\"`_"


def repeated(pattern: str, size: int) -> bytes:
    unit = pattern.encode()
    return (unit * (size // len(unit) + 1))[:size]


def generated(chance: random.Random) -> str:
    """A unit of one to six characters."""
    return "".join(chance.choices(_PIECES, k=chance.randint(1, 6)))


def nested(chance: random.Random, size: int) -> bytes:
    """Opened and closed again, with something in the middle."""
    opening, closing = generated(chance).encode(), generated(chance).encode()
    half = size // 2
    return (opening * half)[:half] + b"x" + (closing * half)[:half]


def staircase(size: int) -> bytes:
    """Every line further to the right than the one before."""
    lines, total, level = [], 0, 0
    while total < size:
        line = b" " * level + b"if x:\n"
        lines.append(line)
        total += len(line)
        level += 1
    return b"".join(lines)[:size]


def note(body: bytes) -> bytes:
    return b"---\n" + body[: 15 * KIB].replace(b"\n---", b"\n--") + b"\n---\ntext\n"


def files(chance: random.Random) -> Iterator[tuple[str, str, bytes]]:
    """Path, what it is, bytes; without end."""
    while True:
        suffix, size = chance.choice(SUFFIXES), chance.choice(SIZES)
        kind = chance.randrange(5)
        unit = chance.choice(GROWTH) if kind < 2 else generated(chance)
        if kind < 4:
            data, what = repeated(unit, size), f"{unit!r} × {size}"
        else:
            data, what = (
                (nested(chance, size), "nested") if chance.random() < 0.8 else (staircase(size), "stairs")
            )
        if suffix == "md" and chance.random() < 0.7:
            data, what = note(data), f"front matter {what}"
        yield f"fuzz.{suffix}", what, data

"""A made-up Python project with an exact (SCIP) index of a given size, written by ourselves.

Every line defines one name and uses four others, so a file of a hundred lines has five hundred occurrences, each of
which stands in its file's text where the index says. A few names are used everywhere, most a few times.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from benchmarks import corpus
from gitindex.scip import schema

LINES, USES = 100, 4
PER_FILE = LINES * (USES + 1)


def project(cache: Path, occurrences: int) -> tuple[Path, Path]:
    """The repository and its index file, made once."""
    root = cache / "repositories" / f"made-{occurrences}"
    index = cache / "scip" / f"made-{occurrences}.scip"
    if not (index.exists() and (root / ".git" / "HEAD").exists()):
        shutil.rmtree(root, ignore_errors=True)
        index.parent.mkdir(parents=True, exist_ok=True)
        root.mkdir(parents=True)
        _write(root, index, max(1, occurrences // PER_FILE))
        corpus.git(root, "init", "-q", "-b", "main")
        corpus.git(root, "add", "-A")
        corpus.git(root, "commit", "-q", "-m", "Import")
    return root, index


def _write(root: Path, index: Path, files: int) -> None:
    dice = random.Random(files)
    (root / ".gitindex.toml").write_text('[embedding]\nprovider = "none"\n')
    (root / "pyproject.toml").write_text('[project]\nname = "made"\nversion = "1.0"\n')
    head = schema.plain_messages().Index()
    head.metadata.tool_info.name = "scip-python"
    head.metadata.tool_info.version = "0.6.6"
    head.metadata.text_document_encoding = schema.UTF8
    with index.open("wb") as handle:
        handle.write(head.SerializeToString())
        for number in range(files):
            path = f"pkg{number // 100}/m{number}.py"
            text, document = _file(dice, path, number)
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(text)
            # Messages of one type may be concatenated: nothing has to be held whole.
            handle.write(schema.plain_messages().Index(documents=[document]).SerializeToString())


def _file(dice: random.Random, path: str, number: int) -> tuple[str, object]:
    document = schema.plain_messages().Document(
        relative_path=path, language="python", position_encoding=schema.UTF8
    )
    lines = []
    for row in range(LINES):
        own = (number, row)
        used = [_used(dice, number) for _ in range(USES)]
        line = f"{_name(own)} = "
        _occurrence(document, own, row, 0, schema.DEFINITION)
        for at, name in enumerate(used):
            line += "" if at == 0 else " + "
            _occurrence(document, name, row, len(line), 0)
            line += _name(name)
        lines.append(line)
        document.symbols.add(symbol=_symbol(own), kind=61)
    return "\n".join(lines) + "\n", document


def _used(dice: random.Random, number: int) -> tuple[int, int]:
    """Mostly a name of a file nearby; sometimes one that everybody uses."""
    if dice.random() < 0.1:
        return 0, int(LINES * dice.random() ** 3)
    return max(0, number - dice.randrange(20)), dice.randrange(LINES)


def _name(place: tuple[int, int]) -> str:
    return f"v{place[0]}_{place[1]}"


def _symbol(place: tuple[int, int]) -> str:
    return f"scip-python python made 1.0 `pkg{place[0] // 100}.m{place[0]}`/{_name(place)}."


def _occurrence(document, place: tuple[int, int], row: int, column: int, roles: int) -> None:
    made = document.occurrences.add(symbol=_symbol(place), symbol_roles=roles)
    made.range.extend((row, column, column + len(_name(place))))

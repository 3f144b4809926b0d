"""An extraction as lines of text, to compare with `golden/`. Run as a module, it rewrites the golden files."""

from __future__ import annotations

from pathlib import Path

from gitindex.extract.extractor import extract
from gitindex.model.rows import Extraction
from gitindex.model.settings import IndexSettings

HERE = Path(__file__).parent
SAMPLES = sorted((HERE / "samples").iterdir())


def golden(sample: Path) -> Path:
    return HERE / "golden" / f"{sample.name}.txt"


def lines(found: Extraction) -> list[str]:
    return [
        f"language {found.language}, {found.lines} lines{', with errors' if found.parse_error else ''}",
        *(_symbol(found, index) for index in range(len(found.symbols))),
        *(f"import {i.line}: {i.module} | {i.name} | {i.alias}" for i in found.imports),
        *(
            f"call {c.line}:{c.column} {c.callee} of {c.receiver!r} in {_name(found, c.caller)}"
            for c in found.calls
        ),
        *(f"entity {found.entity}" for _ in range(found.entity is not None)),
        f"anchor {found.chunks[0].text!r}",
        "names " + " ".join(name for name, _ in found.identifiers),
    ]


def _symbol(found: Extraction, index: int) -> str:
    symbol = found.symbols[index]
    where = f"{symbol.line}:{symbol.column}-{symbol.end_line}:{symbol.end_column}"
    doc = f" doc {symbol.doc!r}" if symbol.doc else ""
    return f"{symbol.kind} {symbol.qualified_name} {where} {symbol.signature!r}{doc} in {_name(found, symbol.parent)}"


def _name(found: Extraction, index: int) -> str:
    return found.symbols[index].qualified_name if index >= 0 else "-"


def sample_facts(sample: Path) -> list[str]:
    return lines(extract(sample.name, sample.read_bytes(), IndexSettings()))


if __name__ == "__main__":
    for path in SAMPLES:
        golden(path).write_text("\n".join(sample_facts(path)) + "\n")

"""Which licences may be trained on: permissive ones only, read from package metadata. Unknown means no."""

from __future__ import annotations

import json
import re
from email.parser import HeaderParser

_PERMISSIVE = re.compile(
    r"mit(-0|-cmu)?|(the )?mit licen[cs]e.*|expat.*|isc.*|0bsd|bsd([ -][234][ -]?clause.*| licen[cs]e.*)?|"
    r"(new|modified|simplified|revised|[23][ -]clause) bsd.*|"
    r"apache([ -]?2(\.0)?| (software )?licen[cs]e.*|-2\.0.*)?|asl 2\.0|psf.*|"
    r"python software foundation.*|python-2\.0(\.1)?|hpnd|historical permission.*|unlicense|zlib.*|zpl[- ]2\.1|"
    r"zope public.*|cnri-python|bsl-1\.0|blueoak-1\.0\.0|cc0-1\.0|ofl-1\.1|ncsa|llvm-exception|postgresql|"
    r"academic free.*|w3c.*",
    re.IGNORECASE,
)
_COPYLEFT = re.compile(
    r"\b[al]?gpl|general public|mozilla|mpl|eupl|cecill|proprietary|commercial", re.IGNORECASE
)


def permissive_expression(expression: str) -> bool:
    """An SPDX-like expression: some OR alternative has only permissive parts."""
    plain = re.sub(r"[()]", " ", expression)
    alternatives = re.split(r"\s+or\s+|\s*/\s*|\s*\|\s*", plain, flags=re.IGNORECASE)
    return any(_all_permissive(alternative) for alternative in alternatives)


def _all_permissive(alternative: str) -> bool:
    parts = re.split(r"\s+(?:and|with)\s+|\s*[,;&]\s*", alternative.strip(), flags=re.IGNORECASE)
    return all(_PERMISSIVE.fullmatch(part.strip()) for part in parts)


def python_licence(metadata: str) -> str | None:
    """The permissive licence a wheel or source distribution declares, or None."""
    fields = HeaderParser().parsestr(metadata)
    expression = fields.get("License-Expression", "").strip()
    if expression:
        return expression if permissive_expression(expression) else None
    classified = [c.split(" :: ")[-1] for c in fields.get_all("Classifier", []) if c.startswith("License ::")]
    named = [name for name in classified if name != "OSI Approved"]
    first_line = fields.get("License", "").strip().split("\n")[0][:80]
    if any(_COPYLEFT.search(name) for name in (*named, first_line)):
        return None
    return next((name for name in (*named, first_line) if name and permissive_expression(name)), None)


def npm_licence(package_json: str) -> str | None:
    declared = json.loads(package_json).get("license", "")
    return declared if isinstance(declared, str) and declared and permissive_expression(declared) else None

"""What may enter the training corpus: permissive licences, code without its documentation, no held-out project."""

from __future__ import annotations

import pytest

from ci.train import corpus
from ci.train.licences import npm_licence, permissive_expression, python_licence
from ci.train.pairs import comment_pairs, python_pairs, sentence


@pytest.mark.parametrize("expression", [
    "MIT", "BSD-3-Clause", "Apache-2.0", "ISC", "PSF-2.0", "Apache-2.0 OR GPL-2.0-or-later", "MIT AND BSD-2-Clause",
    "(MIT OR Apache-2.0)", "Apache Software License", "BSD License", "3-Clause BSD License",
])  # fmt: skip
def test_permissive_licences_are_taken(expression):
    assert permissive_expression(expression)


@pytest.mark.parametrize("expression", [
    "GPL-3.0-only", "LGPL-2.1-or-later", "MPL-2.0", "MIT AND LGPL-2.1-or-later", "", "see LICENSE", "AGPL-3.0",
    "SSPL-1.0", "BUSL-1.1",
])  # fmt: skip
def test_others_and_unknown_ones_are_not(expression):
    assert not permissive_expression(expression)


def test_the_expression_wins_and_any_copyleft_classifier_refuses():
    mixed = "License: MIT\nClassifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)\n\n"
    assert python_licence(mixed) is None
    assert python_licence("License-Expression: MIT\nLicense: GPL\n\n") == "MIT"
    assert python_licence("Name: nothing\n\n") is None
    assert npm_licence('{"license": "MIT"}') == "MIT"
    assert npm_licence('{"license": {"type": "MIT"}}') is None


def test_a_docstring_is_cut_out_of_its_code():
    doc = '        """Add one. Then stop.\n\n        More.\n        """\n'
    source = f"class A:\n    def f(self, x):\n{doc}        return x + 1\n"
    (pair,) = python_pairs("pkg/a.py", source)
    assert (pair.name, pair.doc) == ("A.f", "Add one. Then stop.")
    assert sentence(pair.doc) == "Add one."
    assert pair.code == "    def f(self, x):\n        return x + 1"


@pytest.mark.parametrize(("language", "source", "name"), [
    ("javascript", "/**\n * Adds two numbers.\n * @param {int} a\n */\nexport function add(a) { return a }", "add"),
    ("typescript", "class P {\n  /** Adds two numbers. */\n  add(a: number): number { return a }\n}", "add"),
    ("javascript", "/** Adds two numbers. */\nP.prototype.add = function (a) { return a }", "P.prototype.add"),
    ("rust", "/// Adds two numbers.\n#[inline]\npub fn add(a: u8) -> u8 { a }", "add"),
    ("go", "package p\n\n// Adds two numbers.\nfunc add(a int) int { return a }", "add"),
    ("java", "class P {\n  /** Adds two numbers. */\n  int add(int a) { return a; }\n}", "add"),
])  # fmt: skip
def test_doc_comments_of_other_languages(language, source, name):
    (pair,) = comment_pairs("src/p", source, language)
    assert (pair.name, pair.doc) == (name, "Adds two numbers.")
    assert "Adds" not in pair.code


@pytest.mark.parametrize("path", [
    "pip/_vendor/rich/console.py", "pkg/vendored/x.py", "pkg/tests/test_a.py", "requests/api.py", "a_pb2.py",
    "lib.min.js", "index.d.ts", "pkg/data.json",
])  # fmt: skip
def test_vendored_test_generated_and_held_out_files_are_left_out(path):
    assert not corpus.is_source(path)


def test_ordinary_sources_are_taken():
    assert corpus.is_source("pkg/module.py")
    assert corpus.is_source("src/index.ts")


def test_every_listed_package_is_pinned_and_says_a_permissive_licence():
    lines = [line for line in corpus.PACKAGES.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(corpus.specs())) > 300
    for line in lines:
        spec, licence = line.split("  # ")
        assert spec.count("==") == 1
        assert permissive_expression(licence), line

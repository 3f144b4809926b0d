"""All weights of the ranking, in one place: what words, meaning, names, paths and kinds of files count.

`docs/benchmarks/retrieval.md` says what each is worth. A change of a value is a change of RANKING_VERSION.
"""

from __future__ import annotations

from typing import NamedTuple

from gitindex.search.parse import Query


class RankWeights(NamedTuple):
    """One column of weights. Scores of chunks are shares of the best chunk; the others are added to that."""

    # A chunk
    words: float = 0.12  # a word score of one per term, in cosine
    spelled: float = 1.0  # the same where the whole question is a name
    sure: float = 0.55  # the best cosine above the ordinary at which a cosine counts as it is
    doubt: float = 1.25  # how fast trust in vectors falls below that
    whole_name: float = 1.0  # the chunk defines the name that is the whole question
    folded_name: float = 0.3  # the share of that when only upper and lower case differ
    inner_name: float = 0.1  # the chunk defines a name inside the question
    tiny: float = 0.7  # a chunk of one or two lines
    head: float = 0.6  # the head of a file tells where, not what
    # A place, beside others of its file; shares of the chunk's own score
    says_name: float = 0.8  # all words of the question are in the name of the callable shown
    in_question: float = 0.3  # all words of that name are in the question
    callable: float = 0.1  # a sentence tells what code does
    # A file
    further: float = 0.6  # each further chunk, of the one before
    chunks: int = 6  # how many count
    stem: float = 0.64  # all words of the file's name are in the question
    names: float = 0.5  # all words of the question are in names that the file defines
    partly: float = 0.7  # a word that is the beginning of one asked for, or the reverse
    mention: float = 1.0  # a pasted text names the file: its path, its module, a frame of a traceback
    # Shares of a file's score, by its kind
    test: float = 0.4
    example: float = 0.4
    doc: float = 0.3
    other: float = 0.85  # vendored, generated, stubs, settings, packages
    port: float = 0.7  # for one of several systems
    header: float = 0.8  # of C, beside the source of the same name


DEFAULT_WEIGHTS = RankWeights()
# Of single passages meaning says more, and the name of a callable less: it has no file's other passages beside it.
PASSAGE_WEIGHTS = DEFAULT_WEIGHTS._replace(words=0.07, sure=0.45, doubt=2.0, says_name=0.5, in_question=0.2)
# Of a long text words say more than its meaning, and most files share some of them with their names.
PASTED_WEIGHTS = DEFAULT_WEIGHTS._replace(
    words=0.8, inner_name=0.7, further=0.7, stem=0.3, test=0.2, example=0.2, doc=0.2
)
# What a change touches may be anything, and vectors were trained on code.
EQUAL_WEIGHTS = DEFAULT_WEIGHTS._replace(
    words=0.3, test=1.0, example=1.0, doc=1.0, other=1.0, port=1.0, header=1.0
)


def choose_weights(query: Query, *, files: bool = False, flat: bool = False) -> RankWeights:
    """A change described in a few words touches tests and pages as often as code; a pasted issue is about code."""
    if query.pasted:
        return PASTED_WEIGHTS
    if flat:
        return PASSAGE_WEIGHTS
    return EQUAL_WEIGHTS if files else DEFAULT_WEIGHTS

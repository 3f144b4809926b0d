"""The stored text of a job's error and its parts."""

from __future__ import annotations

import pytest

from gitindex.errors import ExactFactsError
from gitindex.semantic.job_error import _MAX_LOG, JobError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (JobError("crashed", "scip-x failed with exit code 1"), "crashed: scip-x failed with exit code 1"),
        (JobError("crashed", "it ended: badly", "a: b\n\nc"), "crashed: it ended: badly\na: b\n\nc"),
    ],
)
def test_text_and_parts_agree(error, text):
    assert error.to_text() == text
    assert JobError.parse(text) == error


def test_a_sentence_without_diagnosis_counts_as_one():
    assert JobError.parse("the worker died (3 attempts)") == JobError("the worker died (3 attempts)", "")


def test_the_code_stands_in_for_a_missing_diagnosis_and_the_log_keeps_its_end():
    log = "first\n" + "x" * _MAX_LOG
    error = JobError.from_exception(ExactFactsError("broken", log=log))
    assert error == JobError(ExactFactsError.code, "broken", "x" * _MAX_LOG)
    assert JobError.from_exception(ExactFactsError("broken", diagnosis="crashed")) == JobError(
        "crashed", "broken"
    )

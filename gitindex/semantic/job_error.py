"""The error of a refresh job: what the job's row stores as one text, and what a report shows in parts. Pure.

The text is `diagnosis: message`, followed by a line feed and the end of the tool's log where there is one. The
queue may append a remark (`(3 attempts)`), and its own errors are plain sentences without a diagnosis.
"""

from __future__ import annotations

from typing import NamedTuple

from gitindex.errors import ExactFactsError

_MAX_LOG = 4000  # characters


class JobError(NamedTuple):
    diagnosis: str  # a `Diagnosis` or the code of an error
    message: str
    log: str = ""

    @classmethod
    def from_exception(cls, error: ExactFactsError) -> JobError:
        """The log is cut: its end says why a tool failed."""
        diagnosis = str(error.detail.get("diagnosis") or error.code)
        return cls(diagnosis, error.message, str(error.detail.get("log") or "")[-_MAX_LOG:])

    @classmethod
    def parse(cls, text: str) -> JobError:
        """The inverse of `to_text` for a message of one line; a text without a diagnosis counts as one."""
        diagnosis, _, rest = text.partition(": ")
        message, _, log = rest.partition("\n")
        return cls(diagnosis, message, log)

    def to_text(self) -> str:
        return f"{self.diagnosis}: {self.message}" + (f"\n{self.log}" if self.log else "")

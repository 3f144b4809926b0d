"""Values in which the gate reports its check of the completion marker (EN-4)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from gitindex.model.frozen import frozen


class ProofOutcome(StrEnum):
    VALID = "valid"
    STALE_LOCAL = "stale_local"
    FINGERPRINT_MISMATCH = "fingerprint_mismatch"
    PROBE_FAILED = "probe_failed"


class ProofReason(StrEnum):
    MISSING_MARKER_DOC = "missing_marker_doc"
    INVALID_MARKER_KIND = "invalid_marker_kind"
    PATH_MISMATCH = "path_mismatch"
    INVALID_PAYLOAD = "invalid_payload"
    FINGERPRINT_MISMATCH = "fingerprint_mismatch"
    PROBE_FAILED = "probe_failed"


@frozen
class Proof:
    """What the completion marker says; `detail` is for people."""

    outcome: ProofOutcome
    reason: ProofReason | None = None
    detail: str = ""
    marker_present: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "outcome": str(self.outcome),
            "reason": self.reason and str(self.reason),
            "detail": self.detail,
        }

"""Records what every version stands for now: `python -m tests.versions.record`.

Refuses a result that changed under a version that did not: that version has to be raised first.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from gitindex.config import limit_numpy_threads
from tests.versions import answers, content, guard, stored

GUARDS = (*content.GUARDS, *stored.GUARDS)


def main() -> int:
    before = guard.read_recorded() if guard.RECORDED.exists() else {}
    now = {item.constant: guard.measure(item) for item in GUARDS}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GITINDEX_HOME"] = f"{folder}/home"
        fields = answers.measure(Path(folder))
    faults = [
        guard.find_fault(constant, before[constant], entry)
        for constant, entry in now.items()
        if constant in before and before[constant].version == entry.version
        if guard.changed_samples(before[constant], entry)
    ]
    faults += answers.find_faults(answers.read_recorded(), fields) if answers.RECORDED.exists() else []
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        guard.write_recorded(now)
        answers.write_recorded(fields)
    return 1 if faults else 0


if __name__ == "__main__":
    limit_numpy_threads()
    sys.exit(main())

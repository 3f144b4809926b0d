"""Heavy packages arrive late (UI-3)."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHECK = "import sys, {module}; sys.exit(len({{'boto3', 'botocore', 'urllib3'}} & set(sys.modules)))"


@pytest.mark.parametrize(
    "module",
    [
        "gitindex.remote.connect",
        "gitindex.remote.publisher",
        "gitindex.remote.collection",
        "gitindex.remote.transports.s3",
    ],
)
def test_boto3_is_not_imported_before_it_is_needed(module):
    done = subprocess.run(
        [sys.executable, "-c", CHECK.format(module=module)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")

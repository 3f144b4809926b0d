"""Compiles `gitindex/extract/scan` when a wheel is built, an editable one too.

No compiler, or one that fails, is no error: the package gives the same answers without it, more slowly.
"""

from __future__ import annotations

import shlex
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = "gitindex/extract/scan"
TARGET = "gitindex/extract/_scan.abi3.so"


class NativeHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        problem = compiled(root / SOURCE, root / TARGET)
        if problem:
            self.app.display_warning(f"gitindex is built without its compiled loops: {problem}")
            return
        build_data["artifacts"].append(TARGET)  # git ignores it, the wheel must not
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def compiled(folder: Path, target: Path, *options: str) -> str:
    """Why it could not be done; empty when it was."""
    linker = shlex.split(sysconfig.get_config_var("LDSHARED") or "cc -shared")
    include = sysconfig.get_paths()["include"]
    target.unlink(missing_ok=True)
    sources = sorted(map(str, folder.glob("*.c")))
    command = [
        *linker,
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        *options,
        f"-I{include}",
        *sources,
        "-o",
        str(target),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return done.stderr.strip() or f"{linker[0]} failed" if done.returncode else ""

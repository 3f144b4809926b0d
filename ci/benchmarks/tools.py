"""Other tools, installed into the benchmark's own cache: nothing is installed on the machine, nothing needs to be.

A program on PATH is used as it is. Otherwise Debian's package is downloaded and unpacked, or a Python package goes into
an environment of its own. What cannot be had is `Missing`, with the reason.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path


class Missing(Exception):
    """The tool is not here; the message says why."""


@dataclass(frozen=True)
class Tool:
    program: Path
    env: dict[str, str]

    def version(self, *arguments: str) -> str:
        done = subprocess.run(
            [self.program, *(arguments or ("--version",))],
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        found = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
        return found[0] if found else ""


def debian(program: str, cache: Path, *packages: str) -> Tool:
    """A program from PATH, else from Debian packages unpacked into the cache. Raises Missing."""
    on_path = shutil.which(program)
    if on_path:
        return Tool(Path(on_path), dict(os.environ))
    root = cache / "peers" / "debian"
    found = root / "usr" / "bin" / program
    if not found.exists():
        for package in packages:
            _unpack(package, root)
    if not found.exists():
        raise Missing(f"no {program} in {', '.join(packages)}")
    libraries = sorted({str(path.parent) for path in root.rglob("*.so*")})
    path = os.pathsep.join((str(found.parent), os.environ.get("PATH", "")))  # tools call each other by name
    return Tool(found, {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(libraries), "PATH": path})


def _unpack(package: str, root: Path) -> None:
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Missing(f"not on PATH, and no apt-get to download {package}")
    downloads = root.parent / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    root.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["apt-get", "download", package], cwd=downloads, capture_output=True, text=True, check=False
    )
    archives = sorted(downloads.glob(f"{package}_*.deb"))
    if not archives:
        told = (done.stderr.strip().splitlines() or ["unknown"])[-1]
        raise Missing(f"apt-get download {package}: {told[:120]}")
    subprocess.run(["dpkg-deb", "-x", str(archives[-1]), str(root)], check=True)


def python(requirement: str, cache: Path, patience: float) -> Tool:
    """The interpreter of an environment that holds a package. Raises Missing."""
    name = re.split("[=<>]", requirement)[0]
    folder = cache / "peers" / name
    interpreter = folder / "bin" / "python"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        try:
            done = subprocess.run(
                [interpreter, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", requirement],
                capture_output=True, text=True, timeout=patience, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Missing(f"pip install {requirement} took longer than {patience:.0f} s") from None
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "ERROR" in line] or ["pip failed"]
            raise Missing(f"pip install {requirement}: {errors[-1][:120]}")
        (folder / "complete").touch()
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return Tool(interpreter, kept)


def bundled(name: str) -> Path:
    """A program beside this interpreter, else on PATH. Raises Missing."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise Missing(f"{name} is neither beside this Python nor on PATH: pip install {name}")
    return Path(found)

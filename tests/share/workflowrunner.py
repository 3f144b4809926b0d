"""Runs the `run:` steps of the action and of the workflow's jobs as a runner would: expressions, environment, bash.

`uses:` steps are left out. Installing is real, but of a package that only leads to the gitindex under test, so that
nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "ci" / "action.yml"
WORKFLOW = ROOT / ".github" / "workflows" / "index.yml"
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_BACKEND = """
import os, zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    info, name = "gitindex-0.dist-info", "gitindex-0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        wheel.writestr("under_test.pth", PATHS)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: gitindex\\nVersion: 0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    """Job → its description; an action is one job."""
    data = yaml.safe_load(path.read_text())
    found: dict[str, dict[str, Any]] = {"action": data["runs"]} if "runs" in data else data["jobs"]
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job["steps"]]


@dataclass(frozen=True)
class Ran:
    job: str
    step: str
    code: int
    out: str
    err: str
    environment: Mapping[str, str]


@dataclass
class Runner:
    """One machine per job, all below `where`; `workspace` is the checkout."""

    where: Path
    workspace: Path
    event: str = "push"
    values: Mapping[str, str] = field(default_factory=dict)  # inputs.x, secrets.x, github.x
    environment: Mapping[str, str] = field(default_factory=dict)
    ran: list[Ran] = field(default_factory=list)

    def run(self, path: Path) -> list[Ran]:
        """Every step that its conditions let run, until one fails."""
        defaults = yaml.safe_load(path.read_text()).get("inputs", {})
        defaults = {f"inputs.{name}": str(one.get("default", "")) for name, one in defaults.items()}
        values = {**defaults, **self.values, "github.event_name": self.event, "runner.temp": str(self.where)}
        package(self.where / "action")
        for name, job in jobs(path).items():
            if "if" in job and not holds(job["if"], values):
                continue
            for step in job["steps"]:
                if "run" not in step or ("if" in step and not holds(step["if"], values)):
                    continue
                if self._step(name, step, values).code:
                    return self.ran
        return self.ran

    def _step(self, job: str, step: Mapping[str, Any], values: Mapping[str, str]) -> Ran:
        own = {name: substituted(str(value), values) for name, value in step.get("env", {}).items()}
        where = substituted(step.get("working-directory", str(self.workspace)), values)
        environment = {**self._machine(), **own}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=where, env=environment, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        self.ran.append(Ran(job, step["name"], done.returncode, done.stdout, done.stderr, environment))
        return self.ran[-1]

    def _machine(self) -> dict[str, str]:
        return {
            **os.environ,
            "PIP_NO_INDEX": "1",
            "RUNNER_TEMP": str(self.where),
            "GITHUB_ACTION_PATH": str(self.where / "action" / "ci"),
            "GITHUB_EVENT_NAME": self.event,
            "GITHUB_OUTPUT": str(self.where / "output"),
            "GITHUB_STEP_SUMMARY": str(self.where / "summary.md"),
            "GITHUB_WORKSPACE": str(self.workspace),
            "CI": "true",
            **self.environment,
        }


def package(where: Path) -> None:
    """A source tree that pip installs offline: its wheel leads to this gitindex and to what it needs."""
    (where / "ci").mkdir(parents=True, exist_ok=True)
    paths = "\n".join((str(ROOT), *(place for place in sys.path if place.endswith("site-packages")))) + "\n"
    (where / "backend.py").write_text(f"PATHS = {paths!r}\n{_BACKEND}")
    project = "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
    (where / "pyproject.toml").write_text(project)


def holds(condition: str, values: Mapping[str, str]) -> bool:
    return evaluated(_EXPRESSION.sub(r"\1", condition), values) == "true"


def substituted(text: str, values: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: evaluated(found[1], values), text)


def evaluated(expression: str, values: Mapping[str, str]) -> str:
    """The few kinds of expression that our files hold."""
    if found := re.fullmatch(r"contains\(fromJSON\('(.*)'\), ([\w.-]+)\)", expression):
        return str(values[found[2]] in yaml.safe_load(found[1])).lower()
    if found := re.fullmatch(r"([\w.-]+) != ''", expression):
        return str(bool(values[found[1]])).lower()
    return values[expression]

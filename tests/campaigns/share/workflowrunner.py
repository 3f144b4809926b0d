"""Runs the action and the workflows as GitHub would: jobs on machines of their own, steps in order, expressions, files.

What cannot exist here stands in: actions of others do what our files rely on (a checkout as actions/checkout leaves it,
artifacts, credentials of a role), and what is installed is a package that only leads to the gitindex under test, so that
nothing is downloaded. A workflow that asks for more than its caller grants is refused, as GitHub does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.campaigns.share.expressions import expand, holds

ROOT = Path(__file__).resolve().parents[3]
ACTION = ROOT / "ci" / "action.yml"
WORKFLOWS = ROOT / ".github" / "workflows"
WORKFLOW = WORKFLOWS / "index.yml"
OIDC = WORKFLOWS / "index-oidc.yml"
SOAK = WORKFLOWS / "soak.yml"
CHECKS = WORKFLOWS / "checks.yml"
LOCK = "gitindex/semantic/indexers/npm/package-lock.json"
OWN_VERSION = "0.0+own"  # of the package that stands in for this revision
_LEVELS = {"none": 0, "read": 1, "write": 2}
_SECRET = ("AWS_", "GITINDEX_", "GITHUB_")
_BACKEND = f"""
import os, zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    info, name = "gitindex-{OWN_VERSION}.dist-info", "gitindex-{OWN_VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        wheel.writestr("under_test.pth", PATHS)
        wheel.writestr(f"{{info}}/METADATA", "Metadata-Version: 2.1\\nName: gitindex\\nVersion: {OWN_VERSION}\\n")
        wheel.writestr(f"{{info}}/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{{info}}/RECORD", "")
    return name
"""


class InvalidWorkflow(Exception):
    """GitHub would not start it."""


def load(path: Path) -> dict[str, Any]:
    data: dict[Any, Any] = yaml.safe_load(path.read_text())
    if True in data:  # YAML 1.1 reads `on` as a truth value
        data["on"] = data.pop(True)
    return data


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    """Job → its description; an action is one job."""
    data = load(path)
    found: dict[str, dict[str, Any]] = {"action": data["runs"]} if "runs" in data else data["jobs"]
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job["steps"]]


@dataclass(frozen=True)
class Event:
    """What started the run. `ref` names the branch or tag; a pull request's is of its own."""

    name: str
    sha: str
    ref: str = "refs/heads/main"
    repository: Mapping[str, Any] | None = None  # default_branch, fork; a scheduled run has none

    @property
    def github(self) -> dict[str, Any]:
        payload = {"repository": dict(self.repository)} if self.repository is not None else {}
        name = self.ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
        return {
            "event_name": self.name, "sha": self.sha, "ref": self.ref, "ref_name": name, "event": payload,
            "repository": "team/project", "run_id": "1234567",
        }  # fmt: skip


@dataclass(frozen=True)
class Ran:
    job: str
    step: str
    code: int
    out: str
    err: str
    environment: Mapping[str, str]


@dataclass
class Machine:
    """One job's computer."""

    job: str
    where: Path
    permissions: Mapping[str, str] = field(default_factory=dict)
    exported: dict[str, str] = field(default_factory=dict)  # by earlier steps

    def __post_init__(self) -> None:
        for folder in (self.temp, self.workspace, self.home):
            folder.mkdir(parents=True)

    @property
    def temp(self) -> Path:
        return self.where / "temp"

    @property
    def workspace(self) -> Path:
        return self.where / "workspace"

    @property
    def home(self) -> Path:
        return self.where / "home"


@dataclass
class Runner:
    """Runs below `where`; `origin` is the repository that is checked out."""

    where: Path
    origin: Path
    event: Event
    inputs: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    granted: Mapping[str, str] = field(default_factory=lambda: {"contents": "read"})  # by the caller
    role: Mapping[str, str] = field(default_factory=dict)  # credentials that OIDC leads to
    lock: str = ""  # what pins the indexers, instead of ours
    ran: list[Ran] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    cached: list[str] = field(default_factory=list)  # keys
    machines: dict[str, Machine] = field(default_factory=dict)
    artifacts: dict[str, bytes] = field(default_factory=dict)

    # -- what a run is asked about ---------------------------------------------------------------

    @property
    def failed(self) -> list[Ran]:
        return [one for one in self.ran if one.code]

    @property
    def log(self) -> str:
        return "".join(one.out + one.err for one in self.ran)

    @property
    def summary(self) -> str:
        files = [machine.where / "summary.md" for machine in self.machines.values()]
        return "".join(file.read_text() for file in files if file.exists())

    # -- running ---------------------------------------------------------------------------------

    def run(self, path: Path) -> list[Ran]:
        """A whole workflow, or the action as a step of a caller's job after a checkout."""
        package(self.where / "own", self.lock)
        data = load(path)
        if "runs" in data:
            return self._run_action()
        return self._run_workflow(data)

    def _run_action(self) -> list[Ran]:
        machine = self._machine("action", self.granted)
        self._checkout(machine, {"fetch-depth": "0"})
        self.outputs = self._use_own(
            machine, "$/ci", {"with": dict(self.inputs)}, self._contexts(machine, {}), {}
        )
        return self.ran

    def _run_workflow(self, data: dict[str, Any]) -> list[Ran]:
        call = data["on"].get("workflow_call") or data["on"].get("workflow_dispatch") or {}
        inputs = {name: one.get("default", "") for name, one in call.get("inputs", {}).items()}
        _check_call(data, call, self.inputs, self.secrets, self.granted)
        done: dict[str, dict[str, Any]] = {}
        for name, job in data["jobs"].items():
            contexts = {
                "github": self.event.github, "inputs": {**inputs, **self.inputs}, "needs": done,
                "secrets": dict(self.secrets),
            }  # fmt: skip
            needed = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
            unmet = any(done[one]["result"] != "success" for one in needed)
            if unmet or ("if" in job and not holds(job["if"], contexts)):
                done[name] = {"result": "skipped", "outputs": {}}
                continue
            done[name] = self._run_job(name, job, contexts)
        named = {name: one["value"] for name, one in call.get("outputs", {}).items()}
        results = {name: {"outputs": one["outputs"]} for name, one in done.items()}
        self.outputs = {name: expand(value, {"jobs": results}) for name, value in named.items()}
        return self.ran

    def _run_job(self, name: str, job: dict[str, Any], contexts: dict[str, Any]) -> dict[str, Any]:
        machine = self._machine(name, job["permissions"])
        env = {key: expand(str(value), contexts) for key, value in job.get("env", {}).items()}
        inside = {**self._contexts(machine, contexts["inputs"]), **contexts}
        failed = self._run_steps(machine, job["steps"], inside, env)
        outputs = {key: expand(value, inside) for key, value in job.get("outputs", {}).items()}
        return {"result": "failure" if failed else "success", "outputs": outputs}

    def _machine(self, name: str, permissions: Mapping[str, str]) -> Machine:
        """An empty one, with the paths that all of them have; the one before is put aside."""
        for before in self.machines.values():
            if before.where == self.where / "machine":
                before.where = before.where.rename(self.where / f"was-{before.job}")
        self.machines[name] = Machine(name, self.where / "machine", permissions)
        return self.machines[name]

    def _contexts(self, machine: Machine, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "github": self.event.github,
            "inputs": inputs,
            "runner": {"temp": str(machine.temp), "os": "Linux"},
            "steps": {},
        }

    def _run_steps(
        self, machine: Machine, found: list[dict[str, Any]], contexts: dict[str, Any], env: dict[str, str]
    ) -> bool:
        failed = False
        for step in found:
            here = {**contexts, "env": {**env, **machine.exported}}
            if not holds(step.get("if", "true"), here, failed=failed):
                continue
            code, outputs = self._run_step(machine, step, here, env)
            failed = failed or code != 0
            if "id" in step:
                contexts["steps"][step["id"]] = {"outputs": outputs}
        return failed

    def _run_step(
        self, machine: Machine, step: dict[str, Any], contexts: dict[str, Any], env: dict[str, str]
    ) -> tuple[int, dict[str, str]]:
        before = len(self.failed)
        if "run" in step:
            return self._run_script(machine, step, contexts, env)
        given = {name: expand(str(value), contexts) for name, value in step.get("with", {}).items()}
        if step["uses"].startswith("$/"):
            outputs = self._use_own(machine, step["uses"], {**step, "with": given}, contexts, env)
            return len(self.failed) - before, outputs
        name = step["uses"].partition("@")[0]
        getattr(self, "_" + name.partition("/")[2].replace("-", "_"))(machine, given)
        return 0, {}

    def _use_own(
        self,
        machine: Machine,
        uses: str,
        step: Mapping[str, Any],
        contexts: Mapping[str, Any],
        env: dict[str, str],
    ) -> dict[str, str]:
        """A composite action of this repository, at this revision."""
        folder = self.where / "own" / uses.removeprefix("$/")
        data = load(folder / "action.yml")
        unknown = step["with"].keys() - data["inputs"].keys()
        assert not unknown, f"{uses} has no input {unknown}"
        defaults = {
            name: expand(str(one.get("default", "")), contexts) for name, one in data["inputs"].items()
        }
        inside = self._contexts(machine, {**defaults, **step["with"]})
        own = {**env, "GITHUB_ACTION_PATH": str(folder)}
        self._run_steps(machine, data["runs"]["steps"], inside, own)
        return {name: expand(one["value"], inside) for name, one in data["outputs"].items()}

    def _run_script(
        self, machine: Machine, step: dict[str, Any], contexts: dict[str, Any], env: dict[str, str]
    ) -> tuple[int, dict[str, str]]:
        own = {name: expand(str(value), contexts) for name, value in step.get("env", {}).items()}
        where = expand(step.get("working-directory", str(machine.workspace)), contexts)
        output = machine.where / f"output-{len(self.ran)}"
        environment = {
            **self._variables(machine),
            "GITHUB_OUTPUT": str(output),
            **env,
            **machine.exported,
            **own,
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=where, env=environment, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        self.ran.append(
            Ran(machine.job, step["name"], done.returncode, done.stdout, done.stderr, environment)
        )
        lines = output.read_text().splitlines() if output.exists() else []
        return done.returncode, dict(line.split("=", 1) for line in lines)

    def _variables(self, machine: Machine) -> dict[str, str]:
        """Nobody's credentials: what a step has, our files gave it."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_SECRET)}
        return {
            **inherited,
            "HOME": str(machine.home),
            "PIP_NO_INDEX": "1",
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": str(machine.temp),
            "GITHUB_EVENT_NAME": self.event.name,
            "GITHUB_REF": self.event.ref,
            "GITHUB_STEP_SUMMARY": str(machine.where / "summary.md"),
            "GITHUB_WORKSPACE": str(machine.workspace),
            "CI": "true",
            **self.environment,
        }

    # -- actions of others -----------------------------------------------------------------------

    def _checkout(self, machine: Machine, given: Mapping[str, str]) -> None:
        """Branches as origin/*, tags, the commit checked out; no origin/HEAD."""

        def git(*arguments: str) -> None:
            subprocess.run(["git", "-C", str(machine.workspace), *arguments], check=True, capture_output=True)

        git("init", "-q")
        git("remote", "add", "origin", self.origin.as_uri())
        whole = given.get("fetch-depth") == "0"
        refs = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"] if whole else []
        depth = [] if whole else ["--depth=1"]
        git("fetch", "-q", "--no-tags", *depth, "origin", *refs, *([] if whole else [self.event.sha]))
        branch = self.event.ref.removeprefix("refs/heads/")
        git(
            "checkout", "-q", "--force", *(["-B", branch] if branch != self.event.ref else []), self.event.sha
        )

    def _setup_python(self, _machine: Machine, given: Mapping[str, str]) -> None:
        assert given["python-version"]

    def _cache(self, _machine: Machine, given: Mapping[str, str]) -> None:
        self.cached.append(given["key"])

    def _upload_artifact(self, _machine: Machine, given: Mapping[str, str]) -> None:
        if given["name"] in self.artifacts and given.get("overwrite") != "True":
            raise InvalidWorkflow(f"an artifact {given['name']} exists already")
        files = list(Path("/").glob(given["path"].lstrip("/")))
        assert files or given["if-no-files-found"] == "ignore"
        self.artifacts[given["name"]] = b"".join(file.read_bytes() for file in files if file.is_file())

    def _download_artifact(self, _machine: Machine, given: Mapping[str, str]) -> None:
        (Path(given["path"]) / f"{given['name']}.tar").write_bytes(self.artifacts[given["name"]])

    def _configure_aws_credentials(self, machine: Machine, given: Mapping[str, str]) -> None:
        assert machine.permissions.get("id-token") == "write", "no token without the permission"
        assert given["role-to-assume"]
        machine.exported |= {**self.role, "AWS_REGION": given["aws-region"]}


def _check_call(
    data: Mapping[str, Any],
    call: Mapping[str, Any],
    inputs: Mapping[str, str],
    secrets: Mapping[str, str],
    granted: Mapping[str, str],
) -> None:
    """What GitHub looks at before anything runs."""
    for kind, given in (("inputs", inputs), ("secrets", secrets)):
        known = call.get(kind, {})
        missing = {name for name, one in known.items() if one.get("required")} - given.keys()
        if missing or given.keys() - known.keys():
            raise InvalidWorkflow(f"{kind}: missing {missing}, unknown {given.keys() - known.keys()}")
    for name, job in data["jobs"].items():
        for permission, level in job["permissions"].items():
            if _LEVELS[level] > _LEVELS[granted.get(permission, "none")]:
                raise InvalidWorkflow(f"the job {name!r} is requesting '{permission}: {level}'")


def concurrency_group(path: Path, event: Event, inputs: Mapping[str, str]) -> str:
    return expand(load(path)["concurrency"]["group"], {"github": event.github, "inputs": inputs})


def package(where: Path, lock: str = "") -> None:
    """A source tree that stands for this revision: pip installs it offline, and its wheel leads to this gitindex."""
    for name in ("ci/action.yml", "gitindex/__init__.py", LOCK):
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, where / name)
    if lock:
        (where / LOCK).write_text(lock)
    paths = "\n".join((str(ROOT), *(place for place in sys.path if place.endswith("site-packages")))) + "\n"
    (where / "backend.py").write_text(f"PATHS = {paths!r}\n{_BACKEND}")
    project = "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
    (where / "pyproject.toml").write_text(project)

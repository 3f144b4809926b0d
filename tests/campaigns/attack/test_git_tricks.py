"""CF-5: every command and every MCP tool inside a repository full of git configuration tricks starts nothing of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitindex.cli.main import COMMANDS
from gitindex.mcp.tool_schemas import TOOLS
from tests.campaigns.attack import every
from tests.campaigns.attack.canary import Canary, embedded
from tests.campaigns.attack.otherusers import find_open_directory
from tests.support.gitrepo import GitRepo

REPOSITORY = Path(__file__).parents[3]
NOBODY = 65534
HOOKS = (
    "post-index-change",
    "reference-transaction",
    "post-checkout",
    "post-commit",
    "pre-auto-gc",
    "fsmonitor-watchman",
)


@pytest.fixture
def place() -> Iterator[Path]:
    """Not below pytest's own directory: another user could not enter that."""
    made = Path(tempfile.mkdtemp(prefix="gitindex-tricks-", dir=find_open_directory()))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def tricks(place: Path) -> tuple[GitRepo, Path, Canary]:
    """The repository, a tracked bare repository in it, and the program that everything names."""
    canary = Canary.create(place / "canary")
    other = GitRepo.create(place / "other")
    other.commit("other", **{"o.py": "def o(): pass\n"})
    repo = GitRepo.create(place / "repo")
    repo.commit(
        "one",
        **{
            "a.py": "def a(): pass\n",
            "b.py": "import a\n",
            ".gitattributes": "*.py filter=x diff=x merge=x\n",
            ".gitindex.toml": "[index]\nsubmodules = true\n",
        },
    )
    allow = ("-c", "protocol.file.allow=always")
    repo.git(*allow, "submodule", "--quiet", "add", str(other.root), "sub")
    bare = embedded(repo, canary)
    repo.git("add", "-A", "-f")
    first = repo.commit("two")
    second = repo.commit("three", **{"c.py": "def c(): pass\n"})
    repo.git("replace", second, first)
    (repo.root / ".git/objects/info/alternates").write_text(f"{other.root}/.git/objects\n")
    _configure(repo, canary, place)
    repo.write("a.py", "def a(): return 1\n")
    os.utime(repo.root / "b.py", (1, 1))
    GitRepo.create(repo.root / "nested").commit("inner", **{"n.py": "def n(): pass\n"})
    (repo.root / "nested/.git/config").write_text((repo.root / ".git/config").read_text())
    canary.record.unlink(missing_ok=True)
    return repo, bare, canary


def _configure(repo: GitRepo, canary: Canary, place: Path) -> None:
    program = str(canary.program)
    hooks = place / "hooks"
    hooks.mkdir()
    for name in HOOKS:
        shutil.copy(canary.program, hooks / name)
    more = place / "more"
    more.write_text(f'[filter "x"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n')
    settings = {
        "core.fsmonitor": program,
        "core.hooksPath": str(hooks),
        "core.sshCommand": program,
        "core.pager": program,
        "core.editor": program,
        "core.askPass": program,
        "core.gitProxy": program,
        "core.alternateRefsCommand": program,
        "sequence.editor": program,
        "credential.helper": f"!{program}",
        "diff.external": program,
        "diff.x.textconv": program,
        "diff.x.command": program,
        "merge.x.driver": program,
        "gpg.program": program,
        "gpg.ssh.program": program,
        "log.showSignature": "true",
        "pager.status": program,
        "alias.status": f"!{program}",
        "alias.slow": f"!{program}",
        "uploadpack.packObjectsHook": program,
        "remote.origin.url": "ssh://localhost/x",
        "remote.origin.uploadpack": program,
        "remote.origin.promisor": "true",
        "remote.origin.vcs": "ext",
        "protocol.ext.allow": "always",
        "filter.x.required": "true",
        "include.path": str(more),
        f"includeIf.gitdir:{repo.root}/.path": str(more),
        "submodule.sub.update": f"!{program}",
        "gc.auto": "1",
    }
    for name, value in settings.items():
        subprocess.run(["git", "config", "--file", str(repo.root / ".git/config"), name, value], check=True)


def interpreter(user: int | None) -> str:
    """A Python that this user may start: ours, or the system's of the same version."""
    if user is None:
        return sys.executable
    usual = shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin:/usr/local/bin")
    for found in filter(None, (sys.executable, usual)):
        try:
            subprocess.run(
                [found, "-c", "import click, numpy"], user=user, group=user, check=True, env=_paths()
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return found
    pytest.skip("no Python here can be started by an ordinary user")


def _paths() -> dict[str, str]:
    """Our own modules and the installed ones, for an interpreter that does not know them."""
    installed = [entry for entry in sys.path if entry.endswith("site-packages")]
    return {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *installed]), "PYTHONDONTWRITEBYTECODE": "1"}


def run_everything(root: Path, inside: Path, home: Path, user: int | None) -> dict[str, int]:
    python = interpreter(user)
    home.mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env = {
        **kept,
        "TMPDIR": find_open_directory(),
        "HOME": str(home),
        "GITINDEX_HOME": str(home / ".gitindex"),
        "GIT_CONFIG_NOSYSTEM": "1",
        **_paths(),
    }
    if user is not None:
        subprocess.run(["chown", "-R", f"{user}:{user}", str(root.parent)], check=True)
    done = subprocess.run(
        [python, "-m", "tests.campaigns.attack.every", str(root), str(inside)],
        env=env,
        cwd="/",
        capture_output=True,
        check=False,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("user", ["as we are", "nobody"])
def test_no_trick_starts_a_program(place: Path, user: str) -> None:
    """CF-5: and every command ends by itself, with an exit code of ours."""
    if user == "nobody" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    other = NOBODY if user == "nobody" else None
    repo, bare, canary = tricks(place)
    canary.proven(["git", "--no-optional-locks", "status"], repo.root)
    done = run_everything(repo.root, bare, place / "home", other)
    assert not canary.started
    odd = {name: code for name, code in done.items() if code not in range(9)}
    assert not odd
    assert done["sync in repo"] == 0, "the repository is indexed, or nothing was tried"


def test_nothing_is_left_out_unseen(tmp_path: Path) -> None:
    """CF-5: the run covers the whole command table and tool schema."""
    ran = {words.split(" ")[0] for words, _ in every.commands(tmp_path)}
    assert ran == set(COMMANDS)
    assert {name for name, _ in every.tool_calls(tmp_path, tmp_path)} == {spec.name for spec in TOOLS}

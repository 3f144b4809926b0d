"""ST-3: two real users of one group share an index, each with a umask that closes everything.

On a file system with ACLs the kernel hands the group's access down; on one without (ramfs) permissions are set.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gitindex.store import acl
from gitindex.store.layout import Layout
from tests.campaigns.attack.otherusers import find_open_directory
from tests.campaigns.crash.crashing import REPOSITORY
from tests.support.gitrepo import GitRepo

TEAM = 51000
ANNA, BERT, STRANGER = 41001, 41002, 41003
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")


def find_python(root: Path) -> str | None:
    """One of this version that other users may run: this very one may lie in a home directory."""
    for found in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        try:
            if Place(root, False, found).start(ANNA, "-c", "import tantivy, lance").returncode == 0:
                return found
        except PermissionError:
            continue
    return None


@dataclass(frozen=True)
class Place:
    root: Path
    acls: bool
    python: str

    def start(self, user: int, *arguments: str, team: bool = True) -> subprocess.CompletedProcess[str]:
        """One command as one of the users: the team is no user's first group."""
        own = self.root / str(user)
        if not own.exists():
            own.mkdir()
            (own / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
            os.chown(own, user, user)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(own),
            "GITINDEX_HOME": str(self.root / "shared"),
            "PYTHONPATH": os.pathsep.join((str(REPOSITORY), sysconfig.get_path("purelib"))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        return subprocess.run(
            [self.python, *arguments],
            cwd=own,
            env=environment,
            user=user,
            group=user,
            extra_groups=[TEAM] if team else [],
            umask=0o077,
            capture_output=True,
            text=True,
            check=False,
        )

    def gitindex(self, user: int, *arguments: str) -> Any:
        done = self.start(user, "-m", "gitindex", *arguments, "--json", "--path", str(self.root / "repo"))
        assert done.returncode == 0, f"{user} {arguments}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    @property
    def layout(self) -> Layout:
        (base,) = (self.root / "shared/data").iterdir()
        return Layout(base)

    def commit(self, **files: str) -> None:
        repo = GitRepo(self.root / "repo")
        repo.commit("more", **files)
        for path in (repo.root, *repo.root.rglob("*")):
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))


@pytest.fixture(params=["acl", "ramfs"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    root = Path(tempfile.mkdtemp(prefix="gitindex-team-", dir=find_open_directory()))
    mounted = request.param == "ramfs"
    if mounted and subprocess.run(["mount", "-t", "ramfs", "ramfs", str(root)], check=False).returncode:
        root.rmdir()
        pytest.skip("ramfs cannot be mounted here")
    try:
        root.chmod(0o755)
        python = find_python(root)
        if python is None:
            pytest.skip("other users cannot run this Python")
        acls = acl.grant_group(root)
        if acls is mounted:
            pytest.skip("this file system has no ACLs, or ramfs has them")
        if acls:
            os.removexattr(root, "system.posix_acl_default")
        made = Place(root, acls, python)
        shared = root / "shared"
        shared.mkdir()
        os.chown(shared, 0, TEAM)
        shared.chmod(0o2770)
        (shared / "config.toml").write_text("shared = true\n")
        (shared / "config.toml").chmod(0o644)
        GitRepo.create(root / "repo")
        made.commit(**{"a.py": "def alpha():\n    return 1\n", "n.md": "---\ntags: [x]\n---\n# N\n"})
        yield made
    finally:
        if mounted:
            subprocess.run(["umount", str(root)], check=True)
        shutil.rmtree(root)


def test_both_publish_and_read(place: Place) -> None:
    """ST-3: in turn, through everything that writes into a store; nothing is closed to the other, nothing is open to
    the rest."""
    for number, user in enumerate((ANNA, BERT, ANNA, BERT)):
        place.commit(**{"a.py": f"def alpha():\n    return {number}\n", f"m{number}.py": f"M = {number}\n"})
        assert place.gitindex(user, "sync")["noop"] is False
        other = BERT if user == ANNA else ANNA
        assert place.gitindex(other, "search", "alpha")["results"]
        assert place.gitindex(other, "sync")["noop"] is True
    assert place.gitindex(ANNA, "compact")["segments_after"] == 1
    place.gitindex(BERT, "gc")
    place.gitindex(BERT, "repair")
    place.commit(**{"z.py": "Z = 1\n"})
    place.gitindex(BERT, "sync", "--full")
    assert place.gitindex(ANNA, "audit")["problems"] == []
    check_access(place.layout)
    assert {path.lstat().st_uid for path in place.layout.base.rglob("*")} == {ANNA, BERT}


def check_access(layout: Layout) -> None:
    for path in (layout.base.parent, layout.base, *layout.base.rglob("*")):
        found = path.lstat()
        wanted = 0o2770 if path.is_dir() else 0o660
        assert (stat.S_IMODE(found.st_mode), found.st_gid) == (wanted, TEAM), path
    used = layout.last_used.lstat()
    assert (stat.S_IMODE(used.st_mode), used.st_gid) == (0o660, TEAM)


def test_a_stranger_gets_nothing(place: Place) -> None:
    """ST-3: who is not of the group neither reads nor writes."""
    place.gitindex(ANNA, "sync")
    done = place.start(
        STRANGER,
        "-m",
        "gitindex",
        "search",
        "alpha",
        "--json",
        "--path",
        str(place.root / "repo"),
        team=False,
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "bad_config"  # not even the settings
    place.root.joinpath("shared").chmod(0o2775)
    done = place.start(
        STRANGER,
        "-m",
        "gitindex",
        "search",
        "alpha",
        "--json",
        "--path",
        str(place.root / "repo"),
        team=False,
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] in ("foreign_store", "store_unwritable")


def test_what_other_programs_make_is_the_groups_too(place: Place) -> None:
    """ST-3: a file that nobody gave permissions, in a folder of the store, by a user whose umask closes it."""
    place.gitindex(ANNA, "sync")
    if not place.acls:
        pytest.skip("needs ACLs")
    made = ["-c", "import os, sys; open(sys.argv[1] + '/x', 'w'); os.mkdir(sys.argv[1] + '/y')"]
    assert place.start(ANNA, *made, str(place.layout.tables)).returncode == 0
    assert stat.S_IMODE((place.layout.tables / "x").stat().st_mode) == 0o660
    assert stat.S_IMODE((place.layout.tables / "y").stat().st_mode) == 0o2770


def test_a_store_of_an_older_release_gets_its_acl(place: Place) -> None:
    """ST-3: its owner's next publish sets it; until then permissions are set one by one."""
    place.gitindex(ANNA, "sync")
    if not place.acls:
        pytest.skip("needs ACLs")
    folders = (place.layout.base, *place.layout.folders)
    for folder in folders:
        os.removexattr(folder, "system.posix_acl_default")
    place.commit(**{"b.py": "B = 1\n"})
    place.gitindex(BERT, "sync")
    assert not acl.is_group_granted(place.layout.base)
    place.commit(**{"b.py": "B = 2\n"})
    place.gitindex(ANNA, "sync")
    assert all(acl.is_group_granted(folder) for folder in folders)
    check_access(place.layout)

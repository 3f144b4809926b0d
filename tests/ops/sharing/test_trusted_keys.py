"""`ops.sharing.trusted_keys`: what revoking gives back (RE-5)."""

from __future__ import annotations

from gitindex.config import load_environment
from gitindex.ops.sharing import trusted_keys
from tests.support.gitrepo import GitRepo

KEY = "SHA256:" + "a" * 43


def test_a_revocation_is_in_the_answer_and_stays(repo: GitRepo):
    """RE-5: by its id alone; nobody needs the key that leaked."""
    repo.commit("first", **{"a.py": "x = 1\n"})
    status = trusted_keys.revoke(repo.root, load_environment(), KEY)
    assert [entry.id for entry in status.trust.revoked] == [KEY]
    assert trusted_keys.read_trust(repo.root, load_environment()) == status

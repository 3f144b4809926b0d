"""RE-7: the policies of docs/sharing.md, enforced by a server: who may do what, and how a refusal reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.errors import RemoteDenied
from gitindex.ops.sharing.remote_gc import remote_gc
from tests.campaigns.share.conftest import on_server
from tests.campaigns.share.team import Team
from tests.remote.faults import FaultProxy
from tests.remote.servers import BUCKET, Server, client

DOCS = Path(__file__).resolve().parents[3] / "docs" / "sharing.md"


def policy(role: str) -> str:
    """The policy that the documentation tells people to copy."""
    found = re.search(rf"<!-- policy: {role} -->\n```json\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert found, role
    text = found[1].replace("BUCKET", BUCKET).replace("/PREFIX/", "/")
    json.loads(text)
    return text


Become = Callable[[str], None]


@pytest.fixture
def become(moto_server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Become]:
    """Use a role's own credentials, on a server that enforces policies from then on."""
    from moto.core.authorization import enable_iam_authentication

    iam = client(moto_server, "iam")
    enforced, made = ExitStack(), []

    def make(text: str) -> None:
        name = f"share{len(made)}"
        made.append(name)
        iam.create_user(UserName=name)
        iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=text)
        key = iam.create_access_key(UserName=name)["AccessKey"]
        enforced.enter_context(enable_iam_authentication())
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])

    yield make
    enforced.close()
    for name in made:
        iam.delete_user_policy(UserName=name, PolicyName="p")
        for key in iam.list_access_keys(UserName=name)["AccessKeyMetadata"]:
            iam.delete_access_key(UserName=name, AccessKeyId=key["AccessKeyId"])
        iam.delete_user(UserName=name)


@pytest.fixture
def on_moto(moto_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    return on_server(moto_server, tmp_path, monkeypatch)


def test_a_reader_reads_and_cannot_write(on_moto: Team, become: Become):
    team = on_moto
    team.publish()
    repo = team.clone()
    team.trust(repo)
    become(policy("reader"))
    team.fetch(repo)
    assert team.digest(repo) == team.clean(repo)
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    team.build()
    with pytest.raises(RemoteDenied, match="s3:PutObject") as refused:
        team.push()
    assert refused.value.exit_code == 6


def test_a_publisher_publishes_and_cannot_delete(on_moto: Team, become: Become):
    team = on_moto
    become(policy("publisher"))
    assert team.publish().manifest == "created"
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    assert team.publish().manifest == "created"
    with pytest.raises(RemoteDenied, match="s3:DeleteObject"):
        remote_gc(team.origin.root, team.ci, keep=1, days=0, grace=0.0)


def test_the_collector_collects(on_moto: Team, become: Become):
    team = on_moto
    team.publish()
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    team.publish()
    become(policy("gc"))
    assert remote_gc(team.origin.root, team.ci, keep=1, days=0, grace=0.0).manifests["dropped"] == 1


def test_a_missing_list_permission_is_named(on_moto: Team, moto_server: Server):
    """Without it AWS answers 403 for what does not exist (moto answers 404, so a proxy speaks for AWS)."""
    team = on_moto
    repo = team.clone()
    with FaultProxy(moto_server.endpoint) as proxy:
        proxy.add("status", status=403, path="/man/")
        through = replace(team.mate, endpoint=proxy.endpoint)
        team.trust(repo, environment=through)
        with pytest.raises(RemoteDenied, match="s3:ListBucket") as refused:
            team.fetch(repo, through)
    assert "s3:ListBucket" in str(refused.value.hint)


def test_wrong_credentials_are_a_refusal(on_moto: Team, become: Become, monkeypatch: pytest.MonkeyPatch):
    team = on_moto
    repo = team.clone()
    team.trust(repo)
    become(policy("reader"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    with pytest.raises(RemoteDenied):
        team.fetch(repo, replace(team.mate))

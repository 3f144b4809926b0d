"""Keys are OpenSSH's: files, ids and refusals (RE-4)."""

from __future__ import annotations

import shutil
import stat
import subprocess

import pytest

from gitindex.errors import ConfigError, UsageError
from gitindex.trust import keys
from tests.trust.made import signing_key

GOLDEN_LINE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f golden"
GOLDEN_ID = "SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA"


def test_generated_files_load_and_only_the_owner_reads_the_secret(tmp_path):
    """RE-4: `keys new` writes FILE (0600) and FILE.pub."""
    made = keys.generate(tmp_path / "ci", "team ci")
    assert stat.S_IMODE((tmp_path / "ci").stat().st_mode) == 0o600
    assert keys.load_public(tmp_path / "ci.pub") == made
    assert keys.load_public(tmp_path / "ci.pub").comment == "team ci"
    signer = keys.load_private(tmp_path / "ci")
    assert signer.public == made
    assert made.verifies(signer.sign(b"m"), b"m")
    assert not made.verifies(signer.sign(b"m"), b"n")


def test_id_is_the_one_openssh_prints():
    """RE-4: key id equal to `ssh-keygen -lf`, held by a golden value where there is no ssh-keygen."""
    key = keys.parse_public(GOLDEN_LINE)
    assert key.raw == bytes(range(32))
    assert key.line == GOLDEN_LINE
    assert key.id == GOLDEN_ID


def test_ssh_keygen_agrees(tmp_path):
    """RE-4: both directions, where OpenSSH is installed; the golden test above holds everywhere."""
    tool = shutil.which("ssh-keygen")
    if tool is None:
        return
    made = keys.generate(tmp_path / "ours", "ours")
    listed = subprocess.run([tool, "-lf", tmp_path / "ours.pub"], capture_output=True, text=True, check=True)
    assert made.id in listed.stdout
    subprocess.run([tool, "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "theirs"], check=True)
    assert keys.load_private(tmp_path / "theirs").public == keys.load_public(tmp_path / "theirs.pub")


def test_nothing_is_overwritten(tmp_path):
    keys.generate(tmp_path / "a")
    secret = (tmp_path / "a").read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        keys.generate(tmp_path / "a")
    (tmp_path / "b").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        keys.generate(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == secret
    assert not (tmp_path / "b.pub").exists()


def test_private_key_survives_what_ci_variables_do_to_it(tmp_path):
    """A secret pasted into a CI variable loses its last newline or gains carriage returns."""
    made = keys.generate(tmp_path / "a")
    content = (tmp_path / "a").read_text()
    assert keys.parse_private(content.strip()).public == made
    assert keys.parse_private(content.replace("\n", "\r\n")).public == made


@pytest.mark.parametrize("content", ["", "secret words", "-----BEGIN OPENSSH PRIVATE KEY-----\nQUJD\n"])
def test_bad_private_key_is_refused_without_echoing_it(content):
    with pytest.raises(ConfigError) as caught:
        keys.parse_private(content)
    assert "secret words" not in caught.value.message
    assert caught.value.hint


def test_other_key_types_are_refused(tmp_path):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    other = ec.generate_private_key(ec.SECP256R1())
    pem = other.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    with pytest.raises(ConfigError, match="not an ed25519"):
        keys.parse_private(pem.decode())
    line = other.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    with pytest.raises(UsageError, match="ssh-ed25519"):
        keys.parse_public(line.decode())


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ssh-ed25519",
        "ssh-ed25519 !!!!",
        "ssh-ed25519 QUJD",
        GOLDEN_LINE.replace("AAAAC3", "AAAAC4"),
        GOLDEN_LINE + "\x1b[31m",
        GOLDEN_LINE + "\nssh-ed25519 second",
    ],
)
def test_bad_public_lines(line):
    with pytest.raises(UsageError):
        keys.parse_public(line)


def test_the_secret_half_is_not_in_the_repr():
    assert "_private" not in repr(signing_key("a"))

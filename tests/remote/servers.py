"""Real S3 servers on loopback: rclone over TLS, and moto for conditional writes and IAM."""

from __future__ import annotations

import datetime
import ipaddress
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

BUCKET = "team-index"
ACCESS, SECRET = "testaccess", "testsecret"


@dataclass(frozen=True)
class Server:
    endpoint: str
    conditional: bool  # whether If-None-Match is honoured
    ca_bundle: str = ""
    access: str = ACCESS
    secret: str = SECRET

    @property
    def environment(self) -> dict[str, str]:
        """What a user would export; `AWS_CONFIG_FILE` keeps the developer's own files out."""
        found = {
            "AWS_ACCESS_KEY_ID": self.access,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }
        return found | ({"AWS_CA_BUNDLE": self.ca_bundle} if self.ca_bundle else {})


@contextmanager
def rclone(where: Path) -> Iterator[Server]:
    """`rclone serve s3` over TLS with a certificate of its own; the free port is on its stderr."""
    certificate, key = self_signed(where)
    (where / "data" / BUCKET).mkdir(parents=True)
    command = [
        str(Path(sys.executable).parent / "rclone"),
        *("serve", "s3", str(where / "data"), "--addr", "127.0.0.1:0"),
        *("--auth-key", f"{ACCESS},{SECRET}", "--cert", str(certificate), "--key", str(key)),
        *("--config", os.devnull, "--cache-dir", str(where / "cache")),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    seen = []
    try:
        for line in process.stderr:
            seen.append(line)
            if found := re.search(r"https://127\.0\.0\.1:(\d+)", line):
                break
        else:
            raise AssertionError("rclone did not start: " + "".join(seen))
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield Server(f"https://127.0.0.1:{found[1]}", conditional=False, ca_bundle=str(certificate))
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def moto() -> Iterator[Server]:
    from moto.server import ThreadedMotoServer

    # A line per request would push what a failing test has to say out of sight.
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    try:
        client(Server(endpoint, conditional=True), "s3").create_bucket(Bucket=BUCKET)
        yield Server(endpoint, conditional=True)
    finally:
        server.stop()


def client(server: Server, service: str):
    """A plain boto3 client for setting things up behind the transport's back."""
    import boto3

    return boto3.session.Session().client(
        service,
        endpoint_url=server.endpoint,
        region_name="us-east-1",
        aws_access_key_id=server.access,
        aws_secret_access_key=server.secret,
        verify=server.ca_bundle or None,
    )


def self_signed(where: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = where / "server.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret = where / "server.key"
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return pem, secret

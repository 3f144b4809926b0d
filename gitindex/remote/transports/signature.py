"""AWS signature version 4 for GET requests, with credentials from the environment. Pure.

Only environment variables are read: keys, region, certificate bundle. Where they ask for a profile, a proxy or anything
else out of the ordinary, `read_credentials` returns None and boto3 does the reading.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

_EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
_ALGORITHM = "AWS4-HMAC-SHA256"
_DEFAULT_REGION = "us-east-1"
# Variables that change how requests are sent or which credentials apply: boto3 knows them, this module does not.
_UNSUPPORTED_VARIABLES = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class StaticCredentials(NamedTuple):
    """Credentials and settings that the environment holds."""

    access: str
    secret: str
    token: str
    region: str
    ca_bundle: str = ""

    def __repr__(self) -> str:
        return f"StaticCredentials({self.access}, …)"


def read_credentials(variables: Mapping[str, str], endpoint: str) -> StaticCredentials | None:
    """Credentials from the environment, None where boto3 has to find them."""
    access, secret = variables.get("AWS_ACCESS_KEY_ID", ""), variables.get("AWS_SECRET_ACCESS_KEY", "")
    region = variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION") or ""
    if not endpoint or not access or not secret:
        return None
    if any(variables.get(name) for name in (*_UNSUPPORTED_VARIABLES, *_PROXIES)):
        return None
    bundle = variables.get("AWS_CA_BUNDLE") or variables.get("REQUESTS_CA_BUNDLE") or ""
    return StaticCredentials(
        access, secret, variables.get("AWS_SESSION_TOKEN", ""), region or _DEFAULT_REGION, bundle
    )


def sign_headers(credentials: StaticCredentials, host: str, path: str, now: datetime) -> dict[str, str]:
    """The headers for a GET of `path` at `host`. `path` needs no escaping: keys consist of safe characters."""
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    signed_headers = {"host": host, "x-amz-content-sha256": _EMPTY_SHA256, "x-amz-date": stamp}
    if credentials.token:
        signed_headers["x-amz-security-token"] = credentials.token
    names = ";".join(signed_headers)
    lines = "".join(f"{name}:{value}\n" for name, value in signed_headers.items())
    request = f"GET\n{path}\n\n{lines}\n{names}\n{_EMPTY_SHA256}"
    scope = f"{stamp[:8]}/{credentials.region}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    signature = hmac.new(
        _derive_key(credentials, stamp[:8]),
        f"{_ALGORITHM}\n{stamp}\n{scope}\n{digest}".encode(),
        hashlib.sha256,
    ).hexdigest()
    credential = f"Credential={credentials.access}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**signed_headers, "Authorization": f"{_ALGORITHM} {credential}"}


def _derive_key(credentials: StaticCredentials, day: str) -> bytes:
    key = f"AWS4{credentials.secret}".encode()
    for part in (day, credentials.region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key

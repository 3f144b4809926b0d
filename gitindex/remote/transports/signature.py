"""AWS signature version 4 for GET requests, and when it is all that a read needs. Pure.

Only what is written in the environment counts: keys, region, certificate bundle. Profiles, roles, proxies and other
special arrangements are boto3's business, and anything unusual means: not here.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

_EMPTY = hashlib.sha256(b"").hexdigest()
_ALGORITHM = "AWS4-HMAC-SHA256"
_DEFAULT_REGION = "us-east-1"
# Variables that change how a request is made, or for whom.
_UNUSUAL = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class Static(NamedTuple):
    """Credentials that need no asking."""

    access: str
    secret: str
    token: str
    region: str
    ca_bundle: str = ""

    def __repr__(self) -> str:
        return f"Static({self.access}, …)"


def static(variables: Mapping[str, str], endpoint: str) -> Static | None:
    """Credentials from the environment, None when boto3 has to find out."""
    access, secret = variables.get("AWS_ACCESS_KEY_ID", ""), variables.get("AWS_SECRET_ACCESS_KEY", "")
    region = variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION") or ""
    if not endpoint or not access or not secret:
        return None
    if any(variables.get(name) for name in (*_UNUSUAL, *_PROXIES)):
        return None
    bundle = variables.get("AWS_CA_BUNDLE") or variables.get("REQUESTS_CA_BUNDLE") or ""
    return Static(access, secret, variables.get("AWS_SESSION_TOKEN", ""), region or _DEFAULT_REGION, bundle)


def headers(static: Static, host: str, path: str, now: datetime) -> dict[str, str]:
    """What a GET of `path` at `host` must carry. `path` needs no escaping: keys are made of safe characters."""
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    signed = {"host": host, "x-amz-content-sha256": _EMPTY, "x-amz-date": stamp}
    if static.token:
        signed["x-amz-security-token"] = static.token
    names = ";".join(signed)
    lines = "".join(f"{name}:{value}\n" for name, value in signed.items())
    request = f"GET\n{path}\n\n{lines}\n{names}\n{_EMPTY}"
    scope = f"{stamp[:8]}/{static.region}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    signature = hmac.new(
        _key(static, stamp[:8]), f"{_ALGORITHM}\n{stamp}\n{scope}\n{digest}".encode(), hashlib.sha256
    ).hexdigest()
    credential = f"Credential={static.access}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**signed, "Authorization": f"{_ALGORITHM} {credential}"}


def _key(static: Static, day: str) -> bytes:
    found = f"AWS4{static.secret}".encode()
    for part in (day, static.region, "s3", "aws4_request"):
        found = hmac.new(found, part.encode(), hashlib.sha256).digest()
    return found

"""Open the transport of a URL (RE-7). Imports boto3 only when it is needed."""

from __future__ import annotations

from urllib.parse import urlsplit

from gitindex.errors import UsageError
from gitindex.remote.transport import RemoteOptions, Transport


def open_transport(url: str, options: RemoteOptions | None = None) -> Transport:
    """A transport for `s3://bucket/prefix` or `file:///directory`.

    Raises UsageError for any other URL; contacts nobody.
    """
    scheme = urlsplit(url).scheme
    if scheme == "file":
        from gitindex.remote.transports import file

        return file.FileTransport(file.parse_url(url))
    if scheme == "s3":
        return _open_s3(url, options or RemoteOptions())
    raise UsageError(f"not a remote: {url!r}", hint="use s3://BUCKET/PREFIX or file:///DIRECTORY")


def _open_s3(url: str, options: RemoteOptions) -> Transport:
    """Signed GETs for reading where the environment holds the credentials, else boto3 for everything."""
    from gitindex.remote.transports import s3, s3signed, signature

    credentials = signature.read_credentials(options.variables, options.endpoint)
    return s3.connect(url, options) if credentials is None else s3signed.connect(url, options, credentials)

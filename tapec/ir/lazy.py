"""The gate to modules of Python's library that take long to import and that few programs need."""

from __future__ import annotations

__all__ = ["normalized", "quoted", "sha256_hex"]


def normalized(text: str) -> str:
    """The text with letters as Python reads them in names: `ﬁ` is `fi` there."""
    import unicodedata

    return unicodedata.normalize("NFKC", text)


def quoted(text: str) -> str:
    """The text in double quotes, escaped as JSON."""
    import json

    return json.dumps(text)


def sha256_hex(data: bytes) -> str:
    """The SHA-256 digest of bytes, in hexadecimal digits; OpenSSL, which `hashlib` loads, takes 2 ms."""
    import hashlib

    return hashlib.sha256(data).hexdigest()

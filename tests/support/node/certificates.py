"""Certificates for tests, made by openssl: one authority, and the certificates it signs.

This module must not know who uses them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple


class Certified(NamedTuple):
    """PEM files: ``identity`` has the key and the certificate, ``authority`` the signer's
    certificate."""

    identity: Path
    authority: Path


def certified(folder: Path, subject: str) -> Certified:
    """``subject`` as openssl writes it, ``/O=Acme/CN=alice``; good for 127.0.0.1."""
    authority, key = folder / "authority.pem", folder / "authority.key"
    if not authority.exists():
        _openssl("req", "-x509", *_NEW, key, "-subj", "/CN=Tests", "-days", "2", "-out", authority)
    name = f"{len(list(folder.iterdir()))}.pem"
    identity, request, signed = folder / name, folder / f"{name}.csr", folder / f"{name}.crt"
    _openssl("req", *_NEW, identity, "-subj", subject, "-multivalue-rdn", "-out", request)
    extensions = folder / "extensions"
    extensions.write_text("subjectAltName=IP:127.0.0.1\n")
    authorities = ("-CA", authority, "-CAkey", key, "-CAcreateserial", "-extfile", extensions)
    _openssl("x509", "-req", "-in", request, *authorities, "-days", "2", "-out", signed)
    identity.write_text(identity.read_text() + signed.read_text())
    return Certified(identity, authority)


_NEW = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout")


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(
        ["openssl", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)

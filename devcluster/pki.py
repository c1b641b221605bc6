"""A certificate for loopback.

kubectl sends a token over TLS only, so a development cluster needs one too.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from devcluster.files import write_private
from devcluster.objects import utc_now

_VALID = timedelta(days=3650)


@dataclass(frozen=True)
class Certificate:
    """Paths of the PEM files.

    The certificate is its own authority: clients trust exactly this one.
    """

    certificate: Path
    key: Path

    def pem(self) -> bytes:
        return self.certificate.read_bytes()


def for_state_dir(state_dir: Path | None) -> Certificate:
    """The one in the state dir, made when it is not there.

    For a server in memory one per process.
    """
    if state_dir is None:
        return _in_memory()
    found = Certificate(state_dir / "pki" / "server.crt", state_dir / "pki" / "server.key")
    if not (found.certificate.exists() and found.key.exists()):
        _make(found)
    return found


@cache
def _in_memory() -> Certificate:
    folder = Path(mkdtemp(prefix="devcluster-"))
    made = Certificate(folder / "server.crt", folder / "server.key")
    _make(made)
    return made


def _make(target: Certificate) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "devcluster")])
    now = utc_now()
    addresses = [
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.IPAddress(ipaddress.ip_address("::1")),
        x509.DNSName("localhost"),
    ]
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_private(target.key, private)
    write_private(target.certificate, certificate.public_bytes(pem))

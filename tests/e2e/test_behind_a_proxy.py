"""Service and Slack behind a company's proxy, with certificates of its own authority; names resolve only in the proxy."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.e2e.conftest import ROOT
from tests.kit.clock import NOW

HOST = "api.outreach.invalid"
SCRIPT = f"""
import asyncio, json
from bot.slack.web_api import SlackError, open_web_api
from shared.api import OutreachClient, OutreachError
from shared.settings import SlackSettings

async def main():
    async with OutreachClient(base_url="https://{HOST}/v1", api_key="k", retries=0) as client:
        try:
            service = [sequence.id for sequence in await client.list_sequences()]
        except OutreachError as error:
            service = error.cause
    async with open_web_api(SlackSettings(api_url="https://{HOST}/api/")) as slack:
        try:
            team = (await slack.client.auth_test())["team"]
        except Exception as error:
            team = type(error).__name__
    print(json.dumps([service, team]))

asyncio.run(main())
"""


def certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """An authority's certificate and a server that shows it: the authority signs for the host itself."""
    validity = (NOW - timedelta(days=20_000), NOW + timedelta(days=20_000))
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)]),
    )
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), *validity)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    public = built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    bundle, server = folder / "authority.pem", folder / "server.pem"
    bundle.write_bytes(public)
    server.write_bytes(secret + public)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server)
    return bundle, context


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Service and Slack in one: by the path."""
    try:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode():
            path = head.split(" ")[1]
            body = {"ok": True, "team": "Acme"} if path.startswith("/api") else {"data": [{"id": "sq_1"}]}
            text = json.dumps(body)
            headers = f"Content-Type: application/json\r\nContent-Length: {len(text)}"
            writer.write(f"HTTP/1.1 200 OK\r\n{headers}\r\n\r\n{text}".encode())
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


class Proxy:
    """Connects every CONNECT to one port, and remembers where it should have gone."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.asked: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head.splitlines()[0])
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def open_proxy(context: ssl.SSLContext) -> AsyncIterator[tuple[str, Proxy]]:
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    proxy = Proxy(server.sockets[0].getsockname()[1])
    door = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{door.sockets[0].getsockname()[1]}", proxy
    finally:
        door.close()
        server.close()


async def ask(**environ: str) -> list[object]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SCRIPT, cwd=ROOT, env=environ, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    found: list[object] = json.loads(output)
    return found


async def test_requests_go_through_the_proxy_and_trust_its_authority(tmp_path: Path) -> None:
    bundle, context = certificate(tmp_path)
    async with open_proxy(context) as (address, proxy):
        found = await ask(HTTPS_PROXY=address, SSL_CERT_FILE=str(bundle))
        assert found == [["sq_1"], "Acme"]
        assert proxy.asked == [f"CONNECT {HOST}:443 HTTP/1.1"] * 2


async def test_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    _, context = certificate(tmp_path)
    async with open_proxy(context) as (address, proxy):
        found = await ask(HTTPS_PROXY=address)
        assert found == ["Cause: the TLS certificate is not valid.", "ClientConnectorCertificateError"]
        assert len(proxy.asked) == 2


async def test_a_host_of_no_proxy_is_asked_directly(tmp_path: Path) -> None:
    bundle, context = certificate(tmp_path)
    async with open_proxy(context) as (address, proxy):
        found = await ask(HTTPS_PROXY=address, NO_PROXY=".invalid", SSL_CERT_FILE=str(bundle))
        assert found == ["Cause: the host name can't be resolved.", "ClientConnectorDNSError"]
        assert proxy.asked == []

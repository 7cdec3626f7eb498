"""A secret that is shown once is kept; a second subscription must be insisted on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.cli.conftest import Shell

URL = "https://ops.example.com/webhooks/outreach"


def kept(shell: Shell) -> list[dict[str, Any]]:
    subscriptions: list[dict[str, Any]] = json.loads((shell.home / "state" / "webhooks.json").read_text())[
        "default"
    ]
    return subscriptions


def test_the_secret_is_on_disk_private_and_not_on_the_screen(shell: Shell) -> None:
    told = shell.run("webhooks", "create", "--url", URL, "reply.interested")
    assert told.code == 0
    (made,) = kept(shell)
    assert made["secret"] not in told.out + told.err
    assert made["events"] == ["reply.interested"]
    assert oct((shell.home / "state" / "webhooks.json").stat().st_mode & 0o777) == "0o600"
    listed = shell.run("webhooks", "list", "--json")
    assert listed.data == [{"id": made["id"], "url": URL, "events": ["reply.interested"]}]
    assert made["secret"] in shell.run("webhooks", "list", "--json", "--show-secret").out


def test_a_second_subscription_of_an_address_warns_and_needs_a_yes(shell: Shell) -> None:
    assert shell.run("webhooks", "create", "--url", URL).code == 0
    again = shell.run("webhooks", "create", "--url", URL + "/")
    assert (again.code, again.out) == (1, "")
    assert "--yes" in again.err
    assert len(kept(shell)) == 1
    assert shell.run("webhooks", "create", "--url", URL, "--yes").code == 0
    assert len(kept(shell)) == 2


@pytest.mark.parametrize(
    "typed",
    [["create"], ["create", "--url", "ops.example.com"], ["create", "--url", "http://ops.example.com/x"],
     ["create", "--url", URL, "reply.interestd"], ["delete"]],
)  # fmt: skip
def test_what_cannot_be_subscribed_is_refused_before_the_service_is_asked(
    offline: Shell, typed: list[str]
) -> None:
    told = offline.run("webhooks", *typed)
    assert (told.code, told.out) == (2, "")


def test_nothing_is_subscribed_when_the_secret_could_not_be_kept(offline: Shell) -> None:
    (offline.home / "file").write_text("")
    offline.set("OUTREACH_DATABASE_URL", f"sqlite:///{offline.home / 'file' / 'outreach.db'}")
    told = offline.run("webhooks", "create", "--url", URL)
    assert (told.code, told.out) == (1, "")


@contextmanager
def cutting() -> Iterator[str]:
    """A service that reads the request and hangs up."""

    class Cut(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.connection.close()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Cut) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_an_uncertain_outcome_is_explained(offline: Shell) -> None:
    with cutting() as base_url:
        offline.set("OUTREACH_BASE_URL", base_url)
        told = offline.run("webhooks", "create", "--url", URL)
    assert (told.code, told.out) == (1, "")
    assert "Nobody knows whether the subscription was made" in told.err
    assert "its secret is lost" in told.err
    assert not (offline.home / "state" / "webhooks.json").exists()

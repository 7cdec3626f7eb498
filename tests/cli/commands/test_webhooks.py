"""A secret that is shown once is kept; a second subscription must be insisted on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.cli.conftest import Shell
from tests.cli.running_bot import deliver, running_bot
from tests.kit.clock import moment

URL = "https://ops.example.com/webhooks/outreach"


def kept(shell: Shell) -> list[dict[str, Any]]:
    """What is listed, without when each ends."""
    subscriptions = shell.run("webhooks", "list", "--json", "--show-secret").data
    return [{name: one[name] for name in one if name != "accepted_until"} for one in subscriptions]


def test_the_secret_is_in_the_private_database_and_not_on_the_screen(shell: Shell) -> None:
    result = shell.run("webhooks", "create", "--url", URL, "reply.interested")
    assert result.code == 0
    (made,) = kept(shell)
    assert made["secret"] not in result.out + result.err
    assert made["events"] == ["reply.interested"]
    assert oct((shell.home / "state" / "outreach.db").stat().st_mode & 0o777) == "0o600"
    listed = shell.run("webhooks", "list", "--json")
    shown = {"id": made["id"], "url": URL, "events": ["reply.interested"], "accepted_until": None}
    assert listed.data == [shown]
    assert made["secret"] not in listed.out
    heading, line = shell.run("webhooks", "list", "--csv").out.splitlines()
    assert (heading, line.startswith(f"{made['id']},{URL},")) == ("id,url,events,accepted_until", True)


def test_an_address_that_the_bot_does_not_serve_is_refused_unless_insisted_on(shell: Shell) -> None:
    refused = shell.run("webhooks", "create", "--url", "https://ops.example.com/hook")
    assert refused.code == 1
    assert "…/webhooks/outreach" in refused.err
    assert kept(shell) == []
    assert shell.run("webhooks", "create", "--url", "https://ops.example.com/hook", "--yes").code == 0


def test_with_a_key_the_database_holds_no_secret_in_clear(shell: Shell) -> None:
    assert shell.run("webhooks", "create", "--url", URL).code == 0
    shell.set("OUTREACH_SECRET_KEY", "first-key-of-the-tests")
    assert shell.run("webhooks", "create", "--url", f"{URL}/two", "--yes").code == 0
    clear, encrypted = (one["secret"].encode() for one in kept(shell))
    files = b"".join(file.read_bytes() for file in (shell.home / "state").glob("outreach.db*"))
    # Else the other would be missing, too, if secrets were kept somewhere else.
    assert clear in files
    assert encrypted
    assert encrypted not in files
    # A key is changed by a new one before it: what the old one encrypted must stay readable.
    shell.set("OUTREACH_SECRET_KEY", "second-key-of-the-tests,first-key-of-the-tests")
    assert [one["secret"].encode() for one in kept(shell)] == [clear, encrypted]
    shell.set("OUTREACH_SECRET_KEY", "wrong-key-of-the-tests")
    assert [one["secret"].encode() for one in kept(shell)] == [clear, b""]


def test_a_file_of_an_earlier_version_is_imported_and_deleted_with_its_secrets(shell: Shell) -> None:
    folder = shell.home / "state"
    folder.mkdir()
    (folder / "webhooks.json.imported").write_text("left by an earlier version")
    earlier = {"id": "wh_old", "url": URL, "events": ["reply.interested"], "secret": "earlier-secret"}
    (folder / "webhooks.json").write_text(json.dumps({"default": [earlier], "other": []}))
    assert kept(shell) == [earlier]
    assert kept(shell) == [earlier]
    # Read a second time: a file that is gone by then must not count as no subscriptions.
    assert list(folder.glob("webhooks.json*")) == []
    assert shell.run("webhooks", "create", "--url", URL).code == 1


@pytest.mark.parametrize("content", ["{", '{"acme": [{"id": "wh_1"}]}'])
def test_a_damaged_file_is_named_and_left_as_it_is(offline: Shell, content: str) -> None:
    folder = offline.home / "state"
    folder.mkdir()
    (folder / "webhooks.json").write_text(content)
    result = offline.run("webhooks", "create", "--url", URL)
    assert (result.code, result.out) == (1, "")
    assert "webhooks.json is damaged" in result.err
    assert (folder / "webhooks.json").read_text() == content


@pytest.mark.e2e
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_bot_with_another_home_takes_what_the_new_subscription_delivers(
    shell: Shell, request: pytest.FixtureRequest, database: str
) -> None:
    if database == "postgresql":
        shell.set("OUTREACH_DATABASE_URL", request.getfixturevalue("fresh_postgresql"))
    shell.set("HOME", str(shell.home / "service"))
    with running_bot(shell) as address:
        assert deliver(address, "nobody-knows-this-secret") == 401
        shell.set("HOME", str(shell.home / "admin"))
        assert shell.run("webhooks", "create", "--url", URL).code == 0
        (made,) = kept(shell)
        assert deliver(address, made["secret"]) == 200


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
    result = offline.run("webhooks", *typed)
    assert (result.code, result.out) == (2, "")


def test_nothing_is_subscribed_when_the_secret_could_not_be_kept(offline: Shell) -> None:
    (offline.home / "file").write_text("")
    offline.set("OUTREACH_DATABASE_URL", f"sqlite:///{offline.home / 'file' / 'outreach.db'}")
    result = offline.run("webhooks", "create", "--url", URL)
    assert (result.code, result.out) == (1, "")


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
        result = offline.run("webhooks", "create", "--url", URL)
    assert (result.code, result.out) == (1, "")
    assert "We couldn't confirm this subscription" in result.err
    assert "its secret is lost" in result.err
    assert kept(offline) == []


@pytest.mark.e2e
def test_a_forgotten_secret_is_refused_by_a_bot_that_is_running(shell: Shell) -> None:
    with running_bot(shell) as address:
        for _each in range(2):
            assert shell.run("webhooks", "create", "--url", URL, "--yes").code == 0
        old, new = kept(shell)
        assert (deliver(address, old["secret"]), deliver(address, new["secret"])) == (200, 200)
        asked = shell.run("webhooks", "forget", old["id"])
        assert (asked.code, "--yes" in asked.err) == (1, True)
        assert shell.run("webhooks", "forget", old["id"], "--yes").code == 0
        ends = time.monotonic() + 60
        # A running bot may use a removed secret for some seconds more (FORGET_SECONDS).
        while deliver(address, old["secret"]) == 200:
            assert time.monotonic() < ends
            time.sleep(0.2)
        assert deliver(address, new["secret"]) == 200
        assert kept(shell) == [new]


def test_a_rotated_secret_is_followed_by_a_new_one_and_ends_after_a_day(shell: Shell) -> None:
    shell.run("webhooks", "create", "--url", URL, "interested", "bounces")
    rotated = shell.run("webhooks", "rotate", "--yes", "--json")
    assert rotated.code == 0
    old, new = shell.run("webhooks", "list", "--json", "--show-secret").data
    assert (new["url"], new["events"], new["accepted_until"]) == (URL, old["events"], None)
    assert new["secret"] != old["secret"]
    assert rotated.data[0]["replaces"] == [old["id"]]
    assert new["secret"] not in rotated.out
    left = datetime.fromisoformat(old["accepted_until"]) - moment()
    assert timedelta(hours=23) < left <= timedelta(hours=24)
    again = shell.run("webhooks", "rotate", "--yes", "--json")
    assert [row["replaces"] for row in again.data] == [[new["id"]]]  # what ends already isn't rotated again


def test_a_rotation_asks_first_and_needs_a_subscription(shell: Shell) -> None:
    assert "`webhooks create --url URL` makes one" in shell.run("webhooks", "rotate", "--yes").err
    shell.run("webhooks", "create", "--url", URL)
    assert shell.run("webhooks", "rotate").code != 0
    assert "has no subscription wh_unknown" in shell.run("webhooks", "rotate", "wh_unknown", "--yes").err
    assert len(kept(shell)) == 1

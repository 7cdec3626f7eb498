"""The book of subscriptions: private, whole, shared between processes."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from shared.api.models import Subscription
from shared.storage.webhook_subscriptions import WebhookFile, WebhookFileUnreadable


def made(number: int) -> Subscription:
    return Subscription(
        id=f"wh_{number}", secret=f"secret_{number}", url="https://a.test", events=("lead.replied",)
    )


def test_what_is_kept_is_found_again_by_another_book(tmp_path: Path) -> None:
    path = tmp_path / "state" / "webhooks.json"
    WebhookFile(path).add("acme", made(1))
    WebhookFile(path).add("acme", made(2))
    book = WebhookFile(path)
    assert book.list("acme") == (made(1), made(2))
    assert book.secrets("acme") == ("secret_2", "secret_1")
    assert book.list("globex") == ()


def test_the_file_and_its_folder_are_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "webhooks.json"
    WebhookFile(path).add("acme", made(1))
    assert [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent)] == [0o600, 0o700]
    assert {file.name for file in path.parent.iterdir()} == {"webhooks.json", "webhooks.lock"}


def test_an_open_book_sees_what_others_write(tmp_path: Path) -> None:
    path = tmp_path / "webhooks.json"
    book = WebhookFile(path)
    assert book.secrets("acme") == ()
    WebhookFile(path).add("acme", made(1))
    assert book.secrets("acme") == ("secret_1",)
    path.unlink()
    assert book.secrets("acme") == ()


def test_a_subscription_that_is_added_again_is_kept_once(tmp_path: Path) -> None:
    book = WebhookFile(tmp_path / "webhooks.json")
    book.add("acme", made(1))
    book.add("acme", made(1))
    assert len(book.list("acme")) == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"acme": [{"id": "wh_1"}]}', '{"acme": 3}'])
def test_a_damaged_book_is_said_and_never_overwritten(tmp_path: Path, content: str) -> None:
    path = tmp_path / "webhooks.json"
    path.write_text(content)
    book = WebhookFile(path)
    with pytest.raises(WebhookFileUnreadable, match="damaged"):
        book.secrets("acme")
    with pytest.raises(WebhookFileUnreadable):
        book.add("acme", made(1))
    assert path.read_text() == content


def test_no_secret_is_in_a_repr(tmp_path: Path) -> None:
    book = WebhookFile(tmp_path / "webhooks.json")
    book.add("acme", made(1))
    assert "secret_1" not in repr(book) + repr(book.list("acme"))


WRITER = """
import sys
from pathlib import Path
from shared.api.models import Subscription
from shared.storage.webhook_subscriptions import WebhookFile
for n in range(20):
    WebhookFile(Path(sys.argv[1])).add("acme", Subscription(id=f"{sys.argv[2]}{n}", secret="s"))
"""


def test_two_processes_lose_nothing_to_each_other(tmp_path: Path) -> None:
    path = tmp_path / "webhooks.json"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "ab"]
    assert [writer.wait(timeout=30) for writer in writers] == [0, 0]
    assert len(WebhookFile(path).list("acme")) == 40

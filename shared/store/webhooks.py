"""The webhook subscriptions that `webhooks create` made, with the secrets that the service shows only once."""

from __future__ import annotations

import base64
import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from pydantic import SecretStr

from shared.api.models import Subscription
from shared.frozen import frozen
from shared.store import facts
from shared.store.db.engine import Database, Repository, Transaction, probes, writes
from shared.store.facts import Fact

ENCRYPTED = "fernet:"
SALT = b"outreach-ops webhook secrets"


class SecretUnreadable(Exception):
    """A secret is encrypted with a key that is not set here."""


class SecretCipher:
    """Encrypts with the first key and decrypts with any; without a key, secrets stay as they are."""

    def __init__(self, keys: Sequence[SecretStr]) -> None:
        self._keys = keys

    @property
    def encrypts(self) -> bool:
        return bool(self._keys)

    def encrypt(self, secret: str) -> str:
        return ENCRYPTED + self._fernet.encrypt(secret.encode()).decode() if self._keys else secret

    def decrypt(self, kept: str) -> str:
        """Raises `SecretUnreadable`."""
        if not kept.startswith(ENCRYPTED):
            return kept
        if not self._keys:
            raise SecretUnreadable("The stored secrets are encrypted. Set OUTREACH_SECRET_KEY.")
        from cryptography.fernet import InvalidToken

        try:
            return str(self._fernet.decrypt(kept.removeprefix(ENCRYPTED)).decode())
        except InvalidToken:
            raise SecretUnreadable(
                "The stored secrets are encrypted with another key than OUTREACH_SECRET_KEY."
            ) from None

    @cached_property
    def _fernet(self) -> Any:
        from cryptography.fernet import Fernet, MultiFernet

        return MultiFernet([Fernet(_derived(key.get_secret_value())) for key in self._keys])


@lru_cache(maxsize=8)  # a twentieth of a second each, and every reload of the settings asks again
def _derived(key: str) -> bytes:
    raw = hashlib.scrypt(key.encode(), salt=SALT, n=2**14, r=8, p=1, dklen=32)
    return base64.urlsafe_b64encode(raw)


@frozen
class StoredSubscription(Subscription):
    """A subscription whose secret is accepted, until `ends_at` in Unix seconds where it was replaced."""

    ends_at: float | None = None
    problem: str = ""
    """The reason why the secret can't be read, which is empty then."""


Stored = Mapping[str, Sequence[StoredSubscription]]
"""The subscriptions by their workspaces, the oldest first."""


class WebhookSubscriptions(Repository):
    """The subscriptions by workspace."""

    def __init__(self, database: Database, cipher: SecretCipher) -> None:
        super().__init__(database)
        self._cipher = cipher

    @writes
    def add(self, tx: Transaction, workspace: str, made: Subscription) -> None:
        """Keep it unless it is there; on disk when this returns."""
        value = {
            "url": made.url,
            "events": [*made.events],
            "secret": self._cipher.encrypt(made.secret),
            "created_at": tx.now,
        }
        facts.put(tx, "webhook", made.id, value, workspace=workspace, once=True)

    @writes
    def forget(self, tx: Transaction, workspace: str, ids: Sequence[str], *, after: float = 0.0) -> None:
        """Now, or so many seconds from now."""
        for fact in facts.listed(tx, "webhook", workspaces=[workspace]):
            if fact.key in ids:
                facts.put(tx, "webhook", fact.key, fact.value, workspace=workspace, at=tx.now + after)
        facts.forget(tx, "webhook", before=math.nextafter(tx.now, math.inf))

    @probes
    def all(self, tx: Transaction) -> Stored:
        """The subscriptions whose deliveries are accepted."""
        stored: defaultdict[str, list[StoredSubscription]] = defaultdict(list)
        by_age = sorted(facts.listed(tx, "webhook"), key=lambda fact: (fact.value["created_at"], fact.key))
        for fact in by_age:
            if fact.at is None or fact.at > tx.now:
                stored[fact.workspace].append(self._read(fact))
        return stored

    def _read(self, fact: Fact) -> StoredSubscription:
        secret = problem = ""
        try:
            secret = self._cipher.decrypt(fact.value["secret"])
        except SecretUnreadable as error:
            problem = str(error)
        return StoredSubscription(
            id=fact.key,
            url=fact.value["url"],
            events=tuple(fact.value["events"]),
            secret=secret,
            ends_at=fact.at,
            problem=problem,
        )

    @writes
    def encrypt_all(self, tx: Transaction) -> None:
        """Encrypt what was stored before there was a key."""
        if not self._cipher.encrypts:
            return
        for fact in facts.listed(tx, "webhook"):
            if not fact.value["secret"].startswith(ENCRYPTED):
                value = {**fact.value, "secret": self._cipher.encrypt(fact.value["secret"])}
                facts.put(tx, "webhook", fact.key, value, workspace=fact.workspace, at=fact.at)

"""The tokens with which assistants sign in at `/mcp`: only their hashes are stored, and each expires."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from bot.store.db.engine import Repository, Transaction, reads, writes
from bot.store.db.installation_schema import assistant_tokens
from shared.commands.table import Role

PREFIX = "outreach_mcp"
USED_SECONDS = 60.0
"""How exactly it is known when a token was used last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantToken:
    """What a token permits: a role in some workspaces, until it expires or is revoked."""

    id: str
    name: str
    role: Role
    workspaces: frozenset[str]
    created_by: str = ""
    created_at: float
    expires_at: float
    revoked_at: float | None = None
    used_at: float | None = None

    def counts(self, now: float) -> bool:
        return self.revoked_at is None and now < self.expires_at


class AssistantTokens(Repository):
    """Tokens by their ids."""

    @writes
    def create(
        self,
        tx: Transaction,
        name: str,
        *,
        role: Role,
        workspaces: Collection[str],
        created_by: str,
        seconds: float,
    ) -> tuple[str, AssistantToken]:
        """A new token, with the secret that is shown once."""
        token = AssistantToken(
            id=f"at{secrets.token_hex(4)}",
            name=name,
            role=role,
            workspaces=frozenset(workspaces),
            created_by=created_by,
            created_at=tx.now,
            expires_at=tx.now + seconds,
        )
        secret = f"{PREFIX}_{token.id}_{secrets.token_urlsafe(32)}"
        tx.execute(
            sa.insert(assistant_tokens).values(
                id=token.id,
                name=name,
                hash=_hash(secret),
                role=role.value,
                workspaces=json.dumps(sorted(workspaces)),
                created_by=created_by,
                created_at=token.created_at,
                expires_at=token.expires_at,
            )
        )
        return secret, token

    @reads
    def all(self, tx: Transaction) -> Sequence[AssistantToken]:
        """Every token, also those that count no more, the newest first."""
        query = sa.select(assistant_tokens).order_by(assistant_tokens.c.created_at.desc())
        return [_token(row) for row in tx.execute(query)]

    @reads
    def find(self, tx: Transaction, secret: str) -> AssistantToken | None:
        """The token of a secret, if it counts now."""
        prefix, _, rest = secret.partition(f"{PREFIX}_")
        name = rest.partition("_")[0]
        if prefix or not name:
            return None
        row = tx.execute(sa.select(assistant_tokens).where(assistant_tokens.c.id == name)).one_or_none()
        if row is None or not hmac.compare_digest(row.hash, _hash(secret)):
            return None
        token = _token(row)
        return token if token.counts(tx.now) else None

    @writes
    def note_use(self, tx: Transaction, name: str) -> None:
        tx.execute(sa.update(assistant_tokens).where(assistant_tokens.c.id == name).values(used_at=tx.now))

    @writes
    def revoke(self, tx: Transaction, name: str) -> AssistantToken | None:
        """Revoke the token of this id; None: there is none that isn't revoked."""
        c = assistant_tokens.c
        row = tx.execute(
            sa.select(assistant_tokens).where(c.id == name, c.revoked_at.is_(None))
        ).one_or_none()
        if row is None:
            return None
        tx.execute(sa.update(assistant_tokens).where(c.id == name).values(revoked_at=tx.now))
        return _token(row)


def _token(row: sa.Row[tuple[object, ...]]) -> AssistantToken:
    return AssistantToken(
        id=row.id,
        name=row.name,
        role=Role(row.role),
        workspaces=frozenset(json.loads(row.workspaces)),
        created_by=row.created_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        used_at=row.used_at,
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()

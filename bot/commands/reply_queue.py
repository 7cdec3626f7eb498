"""The queue of replies for the dashboard: what a click in Slack does, in the name of a Slack user and from elsewhere.

Slack says who the person is and where they belong, and the settings say what they may do; without an answer they may do
nothing. The bot that shares the database updates the cards.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from bot.blockkit import OnAlert
from bot.commands.context import CommandContexts
from bot.commands.dispatch import GONE, AlertActions, never
from bot.slack.directory import UserDirectory
from bot.slack.web_api import open_web_api
from shared.domain.alert import Alert
from shared.domain.card import Action, warning
from shared.domain.reply_queue import MOST_QUEUED, Change, Permission, QueuedReplies, QueuedReply, Verb
from shared.domain.wall_clock import moment
from shared.settings import CLAIM, Settings
from shared.store import Store, open_store
from shared.text.quotations import without_quotation

FACE = "dashboard"
NO_USER = "Set slack_user under [dashboard] to your id in Slack, like U0123456789, to work on replies here."
UNCHECKED_USER = "Set SLACK_BOT_TOKEN here, too: only Slack knows whether you may claim replies."


_UNCHANGED = "Nothing was changed"


class SlackReplyQueue:
    """Implements `shared.domain.reply_queue.ReplyQueue`; without a directory it only reads."""

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        workspace: str,
        directory: UserDirectory | None,
    ) -> None:
        self._store, self._workspace, self._directory = store, workspace, directory
        self._user = settings.dashboard.slack_user or ""
        self._words: dict[str, QueuedReply] = {}
        if directory is None:
            return
        contexts = CommandContexts(settings=settings, store=store, clients={})
        # The bot is another process, which looks for changed cards by itself.
        self._actions = AlertActions(contexts, directory, changed=lambda: None, face=FACE)

    async def permission(self) -> Permission:
        """Whether the person may claim in some channel; another one may still allow less."""
        runs = await self._store.bot_is_running()
        if self._directory is None:
            return Permission(refusal=UNCHECKED_USER if self._user else NO_USER, bot_runs=runs)
        person = await self._directory.find(self._user)
        caller = self._actions.caller(person, "")
        refusal = never(person)
        if not refusal and not caller.may(CLAIM):
            why = " ".join(caller.refusal(CLAIM).text[:-1])
            refusal = f"@{person.name} may not claim replies. {why}"
        return Permission(name=person.name, refusal=refusal, bot_runs=runs)

    async def read(self) -> QueuedReplies:
        """The words of each reply are read once: they don't change."""
        count, rows = await self._store.alerts.standings(self._workspace, most=MOST_QUEUED)
        unread = [row.id for row in rows if row.id not in self._words]
        fresh = await self._store.alerts.with_words(unread) if unread else {}
        self._words = {row.id: self._words.get(row.id) or _worded(fresh.get(row.id, row)) for row in rows}
        return QueuedReplies(unclaimed=count, replies=[self._standing(row) for row in rows])

    def _standing(self, row: Alert) -> QueuedReply:
        return replace(
            self._words[row.id],
            claimed_by=row.claimed_name,
            claimed_at=moment(row.claimed_at),
            is_own=bool(row.claimed_by) and row.claimed_by == self._user,
            snoozed_until=None if row.claimed_by else moment(row.snoozed_until),
            turn_of="" if row.claimed_by else row.owner_name,
        )

    async def act(self, verb: Verb, alert: str, *, detail: str = "", person: str = "") -> Change:
        return await self._perform(OnAlert(verb=verb, alert=alert, detail=detail, person=person))

    async def press(self, action: Action, *, detail: str = "", person: str = "") -> Change:
        if not isinstance(action, OnAlert):
            return Change(card=warning(_UNCHANGED, "This works only in Slack."))
        return await self._perform(
            replace(action, detail=detail or action.detail, person=person or action.person)
        )

    async def _perform(self, asked: OnAlert) -> Change:
        if self._directory is None:
            return Change(card=warning(_UNCHANGED, (await self.permission()).refusal))
        alert = await self._store.alerts.find(asked.alert)
        if alert is None or alert.workspace != self._workspace:
            return Change(card=GONE)
        person = await self._directory.find(self._user)
        # A channel with the reply's card in which the person may act.
        channel, refusal = await self._actions.place_for(person, alert)
        if not await self._store.alerts.cards(alert.id):  # not posted yet
            refusal = (await self.permission()).refusal
        if refusal:
            return Change(card=warning(_UNCHANGED, refusal))
        done = await self._actions.perform(asked, self._actions.caller(person, channel))
        return Change(card=done.card, changed=done.on_card)

    async def people(self) -> Sequence[str]:
        return await self._directory.people() if self._directory else ()


def _worded(row: Alert) -> QueuedReply:
    lead = row.event.lead
    return QueuedReply(
        alert_id=row.id,
        received_at=row.received,
        lead=lead.name,
        email=row.email,
        company=lead.company or "",
        sequence=row.event.sequence or row.sequence,
        text=without_quotation(row.event.reply or "").strip(),
    )


@asynccontextmanager
async def open_reply_queue(settings: Settings, workspace: str) -> AsyncIterator[SlackReplyQueue]:
    """The queue of a workspace, for the user of the settings. Raises `RecordsUnavailable` when the database can't be opened."""
    slack = settings.slack
    async with AsyncExitStack() as stack:
        store, directory = await stack.enter_async_context(open_store(settings.database)), None
        if slack.bot_token and settings.dashboard.slack_user:
            api = await stack.enter_async_context(open_web_api(slack))
            directory = UserDirectory(api, groups=settings.roles.groups)
        yield SlackReplyQueue(store, settings=settings, workspace=workspace, directory=directory)

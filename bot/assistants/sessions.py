"""Whom an assistant calls for at `/mcp`: a person of Slack, or the holder of a token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from bot.blockkit.actions import Confirm
from bot.commands.access import Access, actor_of
from bot.commands.context import CommandContexts
from bot.commands.runner import CommandRunner
from bot.interactions.answer_queue import AnswerQueue
from bot.slack.directory import UserDirectory, Viewer
from bot.slack.permissions import Person
from bot.slack.teams import Teams
from bot.slack.web_api import SlackError, WebApi
from bot.store.alerts.confirmations import Verdict, proposal_id
from bot.store.assistant_tokens import USED_SECONDS, AssistantToken
from bot.store.slack_teams import SlackTeam
from shared import operations
from shared.assistants.dry_run import WouldChangeError, reading_only
from shared.assistants.gate import Gate
from shared.assistants.proposal import proposal
from shared.assistants.session import AssistantSession, Caller, Proposed, Standing
from shared.commands import Command, Invocation, parse
from shared.commands.result import Problem, Result
from shared.domain.card import Card, Tone
from shared.operations.context import CommandContext, Place
from shared.records.audit import ASSISTANT, Actor
from shared.text.slack_ids import in_team

FACE = "token"
"""The face of who holds a token."""


class AssistantSessions:
    """Finds sessions; who may not have one gets None."""

    def __init__(
        self,
        contexts: CommandContexts,
        *,
        slack: WebApi,
        directory: UserDirectory,
        teams: Teams | None,
        changed: Callable[[], None],
    ) -> None:
        """`changed`: there is something to post."""
        self._contexts, self._slack, self._teams, self._changed = contexts, slack, teams, changed
        self._own = SlackPeople(contexts, directory, slack, changed=changed)
        self._of_team: dict[str, tuple[SlackTeam, SlackPeople]] = {}
        self._gate = Gate()

    async def of_slack(self, team: str, user: str) -> AssistantSession | None:
        """The session of a full member of a Slack workspace that the bot is installed in."""
        people = await self._people(team)
        return await people.session(user, self._gate) if people else None

    async def _people(self, team: str) -> SlackPeople | None:
        if self._teams is None:
            return self._own if team and team == await self._home() else None
        found = await self._teams.find(team)
        if (
            found is None
            or not found.token
            or found.workspaces.isdisjoint(self._contexts.settings.workspaces)
        ):
            return None
        known = self._of_team.get(team)
        if known is None or known[0] != found:
            own = self._slack.of_team(team)
            directory = UserDirectory(own, groups=self._contexts.settings.roles.groups)
            people = SlackPeople(self._contexts.only(found.workspaces), directory, own, changed=self._changed)
            known = found, people
            self._of_team[team] = known
        return known[1]

    async def _home(self) -> str:
        """The bot's own Slack workspace; empty while Slack doesn't say."""
        if not self._slack.identity:
            try:
                await self._slack.call("auth.test")
            except SlackError:
                return ""
        return str(self._slack.identity.get("team_id") or "")

    async def of_token(self, secret: str) -> AssistantSession | None:
        """Raises `RecordsUnavailable`."""
        tokens = self._contexts.store.assistant_tokens
        token = await tokens.find(secret)
        if token is None:
            return None
        workspaces = token.workspaces & self._contexts.settings.workspaces.keys()
        if not workspaces:
            return None
        if token.used_at is None or self._contexts.now().timestamp() - token.used_at >= USED_SECONDS:
            await tokens.note_use(token.id)
        return self._token_session(token, self._contexts.only(workspaces))

    def _token_session(self, token: AssistantToken, contexts: CommandContexts) -> AssistantSession:
        actor = Actor(name=token.name, id=token.id, face=FACE, via=ASSISTANT)

        async def run(invocation: Invocation) -> Result:
            context = contexts.at(contexts.workspace(invocation.workspace), actor, role=token.role)
            if not context.allows(invocation.command):
                return _NOT_PERMITTED
            # Private channels are for their members, and a token is none.
            context = replace(context, sees_channel=_sees_none, find_place=_unknown_place)
            return await operations.run(invocation, reading_only(context))

        return AssistantSession(
            _caller(actor, contexts), run, gate=self._gate, allowed=partial(_includes, token)
        )


class SlackPeople:
    """The people of one Slack workspace, with the rules that hold for what they type there."""

    def __init__(
        self,
        contexts: CommandContexts,
        directory: UserDirectory,
        slack: WebApi,
        *,
        changed: Callable[[], None],
    ) -> None:
        self.store, self._contexts, self._directory = contexts.store, contexts, directory
        self._access = Access(contexts, directory)
        self._queue = AnswerQueue(contexts.store, slack, changed=changed)
        self._runner = CommandRunner(contexts.store, self._access, account_changed=changed)

    async def session(self, user: str, gate: Gate) -> AssistantSession | None:
        found = await self._directory.find(in_team(self._directory.team, user))
        if not found.is_member:
            return None
        person = replace(self._access.with_role(found, channel=""), via=ASSISTANT)
        return AssistantSession(
            _caller(actor_of(person, ""), self._contexts),
            partial(self._run, person),
            gate=gate,
            proposals=SlackProposals(self, person, self._queue, self._runner),
            allowed=self._allowed(person),
        )

    def _allowed(self, person: Person) -> Callable[[Command], bool]:
        return partial(self._access.may, person, channel="")

    async def _run(self, person: Person, invocation: Invocation) -> Result:
        """As the same line in a direct message with the bot."""
        checked = await self.checked(person, invocation)
        if isinstance(checked, Result):
            return checked
        line, context = checked
        return await operations.run(line, reading_only(context))

    async def checked(
        self, person: Person, invocation: Invocation
    ) -> tuple[Invocation, CommandContext] | Result:
        """The line with its context, or why this person may not give it."""
        viewer = Viewer(user=person.id)
        named = parse(await self._directory.with_channels(invocation.line, viewer))
        named = self._access.in_own_team(named)
        readable = await self._access.readable(named, person, channel="")
        if readable is None:
            command = named.command
            card = await self._access.refusal(command.name, command.name, command.role, person, channel="")
            return Result(card=card, problem=Problem(text="role"))
        if hidden := await self._access.hidden(readable, person, channel=""):
            return Result(card=hidden.card, problem=hidden.problem)
        return readable, self._access.context(readable.workspace, person, channel="")


_NOT_PERMITTED = Result(
    card=Card(
        title="This token doesn't permit that",
        tone=Tone.WARN,
        text=("Create one with another role: outreach mcp token create",),
    ),
    problem=Problem(text="role"),
)


class SlackProposals:
    """Asks a person, in their direct messages with the bot, to confirm what their assistant proposes."""

    def __init__(
        self, people: SlackPeople, person: Person, queue: AnswerQueue, runner: CommandRunner
    ) -> None:
        self._people, self._person, self._queue, self._runner = people, person, queue, runner

    async def propose(self, invocation: Invocation) -> Proposed | Result:
        checked = await self._people.checked(self._person, invocation)
        if isinstance(checked, Result):
            return checked
        line, context = checked[0], reading_only(checked[1])
        try:
            answer = await self._runner.run(line, self._person, context=context)
        except WouldChangeError:
            asked = await proposal(line, context)
            if isinstance(asked, Result):
                return asked
            line, card = asked
            answer = await self._runner.propose(line, self._person, card=card, context=context)
        nonces = [
            button.action.nonce
            for button in answer.card.buttons
            if isinstance(button.action, Confirm) and not button.action.undo
        ]
        if not nonces:
            return Result(card=answer.card, problem=answer.problem or Problem(text="nothing to change"))
        question = replace(answer, workspace=context.workspace.name)
        await self._queue.post(question, channel=self._person.id, about=nonces[0])
        return Proposed(ids=tuple(map(proposal_id, nonces)), card=answer.card)

    async def look(self, proposal: str) -> Standing | None:
        found = await self._people.store.confirmations.proposed(proposal, self._person.id)
        if found is None or found.question is None:
            return None
        if found.verdict is Verdict.GIVEN:
            return Standing(state="confirmed", result=found.question.result)
        return Standing(state="expired" if found.verdict is Verdict.LATE else "waiting for confirmation")


def _caller(actor: Actor, contexts: CommandContexts) -> Caller:
    return Caller(actor=actor, records=contexts.store.records, now=contexts.now, settings=contexts.settings)


def _includes(token: AssistantToken, command: Command) -> bool:
    return token.role.includes(command.role)


async def _sees_none(_channel: str) -> bool:
    return False


async def _unknown_place(channel: str) -> Place:
    return Place(
        channel=channel,
        error="channel_not_found",
        refusal="A token can't name channels",
        fix="Ask through Slack's assistant instead.",
    )

"""What a line means that is no command: "who replied today" is `replies today`. Pure, and without a language model.

Each word of a request stands for a concept; each intent names the concepts that it needs and makes a command of them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from shared.commands import Invocation, UsageError, find_command, parse
from shared.commands.arguments import Arguments
from shared.commands.pauses import Pause
from shared.commands.times import MONTHS, RANGES
from shared.text.tokenize import quote

__all__ = ["Request", "understand"]

LONGEST = 200
CONCEPTS: dict[str, str] = {
    "pause": "pause stop halt hold freeze suspend disable deactivate kill cease turn_off",
    "resume": "resume unpause restart start continue reactivate unfreeze enable reenable turn_on sending_again",
    "remove": "remove delete erase suppress drop blacklist take_out opt_out never_email never_contact never_mail dont_email "
    "don't_email don't_contact not_email not_contact stop_emailing stop_contacting stop_mailing stop_writing",
    "everything": "all everything every everyone each entire whole",
    "replies": "reply replies replied replying respond responds responded response responses answer answers answered "
    "answering wrote_back write_back got_back get_back came_back hear_back heard_back said",
    "interested": "interested hot warm positive keen",
    "unclaimed": "unclaimed nobody picked_up pick_up grab waiting unanswered open my new inbound pending owner",
    "claimed": "mine my_claims my_claim claimed claimed_by_me assigned_to_me i_claimed i_have_claimed i_took have_i_claimed have_i_taken i_have_taken",
    "bounces": "bounce bounces bounced bouncing undelivered undeliverable",
    "unsubscribes": "unsubscribed unsubscribes unsubscribe opted_out optout optouts",
    "completed": "completed finished end ended",
    "meetings": "meeting meetings booked demo demos",
    "sequences": "sequence sequences campaign campaigns cadence cadences flow flows",
    "paused": "paused stopped halted inactive sleeping on_hold turned_off",
    "active": "active running live ongoing turned_on",
    "inboxes": "inbox inboxes mailbox mailboxes sender senders domain domains deliverability health warmup warming resting "
    "reputation limit limits",
    "unhealthy": "unhealthy bad sick weak burned burnt poor worst unwell risk struggling trouble dying low",
    "leads": "lead leads prospect prospects contact contacts people",
    "newest": "newest latest recent recently last",
    "numbers": "stats stat statistics numbers number performance perform performs performing performed rate rates metrics "
    "results result conversion sent sends send volume figures kpi kpis count many much compare comparison did_we_do "
    "have_we_done",
    "best": "best worst top better works working wins winning successful convert converts",
    "step": "step steps",
    "variant": "variant variants subject subjects a/b ab",
    "person": "person reps rep teammate teammates colleagues salespeople",
    "speed": "fast faster fastest quicker quickest quickly slow slower slowest speed long",
    "audit": "audit log history changed changes change touched edited who_paused who_stopped who_resumed who_removed "
    "who_changed who_did who_started who_deleted who_added",
    "report": "report client summary recap pdf",
    "digest": "digest",
    "overview": "status overview doing going dashboard attention problem problems issue issues broken ok okay fine alarm "
    "alarms happening urgent wrong fire standing glance morning",
    "doctor": "doctor check connection connected diagnose diagnostics webhook webhooks token setup",
    "subscriptions": "subscription subscriptions subscribed notification notifications notify posts posted alerts",
    "guard": "guard guards guardrail guardrails rule rules protection threshold thresholds automatic automatically",
    "quiet": "quiet silence mute muted night dnd",
    "whoami": "whoami role roles permission permissions access rights allowed who_am_i can_i may_i am_i",
    "help": "help commands how_do_i how_to how_does what_can_i",
    "why": "why",
    "who": "who whom",
}
"""Concepts, and the words that stand for them; `_` joins words that mean it only together."""
_EMPTY = """
a an the this these those that is are was were be been am do does did have has had i me we us our you your it its they them
their he she his her there here what which how when where show list lists give tell get see find look display pull view let
want need know please pls plz thanks thank hey hi hello now currently right up for of at in on to from by with about without
and or so any anything some just still than since went gone new one ones can could would should will outreach bot out off if
not email emails mail mails message messages things thing stuff account accounts workspace yet back having over quick run
state use used type say asked ask again ever every reached team daily weekly too also put today's anybody someone somebody
something fully currently go take bring too as per between
"""
FILLERS = frozenset(_EMPTY.split())
"""Words that change nothing."""
_CONCEPT_OF = {word: concept for concept, words in CONCEPTS.items() for word in words.split()}
_JOINED = sorted((word for word in _CONCEPT_OF if "_" in word), key=len, reverse=True)
_AROUND = (
    ("pause", re.compile(r"(?i)\bput\b(.{0,60}?)\bon (?:hold|ice|pause)\b")),
    ("turn_off", re.compile(r"(?i)\b(?:turn|switch|shut|take)\b(.{0,60}?)\b(?:off|down)\b")),
    (
        "turn_on",
        re.compile(
            r"(?i)\b(?:turn|switch|put|bring|get)\b(.{0,60}?)\b(?:back on|back up|online|on)\b(?! hold)"
        ),
    ),
    ("turn_on", re.compile(r"(?i)\b(?:get|set)\b(.{0,60}?)\b(?:sending|going|running)\b(?: again)?")),
)
"""Verbs whose object stands between their words."""
_EXACT = {
    "email": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    "id": re.compile(r"\b(?:ld|sq)_\w+"),
    "channel": re.compile(r"<?#[\w|-]+>?"),
    "domain": re.compile(r"(?i)\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}\b"),
}
_DAYS = re.compile(r"\b(?:last|past|previous) (\d{1,3}|few|couple of)? ?(day|week)s\b|\b(\d{1,3})([dw])\b")
_DATES = re.compile(
    rf"\b(\d{{1,2}}) ({'|'.join(MONTHS)})[a-z]*(?: (\d{{4}}))? (?:to|until|-|and) "
    rf"(\d{{1,2}}) ({'|'.join(MONTHS)})[a-z]* (\d{{4}})\b"
)
_COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNTED = re.compile(rf"(?i)\b({'|'.join(_COUNTS)}) (minutes?|hours?|days?|weeks?)\b")
_PERIODS = {
    **{name: name for name in RANGES},
    "this morning": "today",
    "tonight": "today",
    "so far": "today",
    "last night": "yesterday",
    "past week": "7d",
    "weekly": "last week",
    "past month": "30d",
    "monthly": "last month",
}
_TAIL = re.compile(r"(?i)\b(?:for (?=\d|an? |half|the )|until |till |because |reason )")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a line may mean."""

    nearest: tuple[Invocation, ...]
    """At most two commands, the nearer one first."""
    is_clear: bool
    """Whether the first one leaves no word over that may matter."""
    dropped: str = ""
    """The period that was named, where the first one takes none."""


@dataclass(slots=True, kw_only=True)
class _Said:
    """A request in its parts."""

    words: tuple[str, ...]
    concepts: frozenset[str]
    rest: tuple[str, ...]
    """What stands for no concept, as it was typed."""
    workspace: str = ""
    lead: str = ""
    """An address or an id."""
    sequence: str = ""
    """An id."""
    channel: str = ""
    domain: str = ""
    period: str = ""
    tail: str = ""
    """How long, until when and why, as it was typed."""

    def any(self, *concepts: str) -> bool:
        return not self.concepts.isdisjoint(concepts)

    @property
    def name(self) -> str:
        """Of a sequence, if one is named; words that stand apart are no name."""
        name = " ".join(self.rest)
        return self.sequence or (quote(name) if name and name in " ".join(self.words) else "")


def understand(line: str, *, workspaces: Collection[str] = ()) -> Request | None:
    """None: no word of it means anything here."""
    if not line.strip() or len(line) > LONGEST:
        return None
    said = _parts(line, workspaces)
    found: dict[str, Invocation] = {}
    for command in (command for intent in _INTENTS for command in intent(said)):
        with contextlib.suppress(UsageError):
            invocation = parse(f"{command} @{said.workspace}" if said.workspace else command)
            if not said.tail or _ends(invocation.arguments):
                found.setdefault(invocation.arguments.verb, invocation)
    if not found:
        return None
    nearest = tuple(found.values())[:2]
    dropped = "" if said.period in nearest[0].line else said.period
    return Request(nearest=nearest, is_clear=_is_clear(nearest[0], said), dropped=dropped)


def _ends(arguments: Arguments) -> bool:
    """Whether the end of a pause, or its reason, was understood: without it, it would be paused for longer."""
    return not isinstance(arguments, Pause) or bool(arguments.duration or arguments.until or arguments.reason)


def _is_clear(meant: Invocation, said: _Said) -> bool:
    """Of a name every word counts; other words that aren't understood may matter, if they are many."""
    is_named = bool(getattr(meant.arguments, "target", ())) or said.lead or said.domain or said.channel
    understood = len(said.concepts) + bool(said.period) + bool(said.workspace)
    return bool(is_named) or (not said.rest if meant.changes else len(said.rest) < understood)


def _parts(line: str, workspaces: Collection[str]) -> _Said:
    line = _COUNTED.sub(lambda found: f"{_COUNTS.index(found[1].lower()) + 1} {found[2]}", line)
    text = " ".join(re.sub(r"[?!,;]+|\.(?=\s|$)|[’']s\b", " ", line).split()).replace("’", "'")
    tail = ""
    if found := _TAIL.search(text):
        text, tail = text[: found.start()], text[found.start() :]
        tail = re.sub(r"(?i)^because ", "reason ", re.sub(r"(?i)^till ", "until ", tail))
    exact: dict[str, str] = {}
    for what, pattern in _EXACT.items():
        if found := pattern.search(text):
            exact[what], text = found[0], f"{text[: found.start()]} {text[found.end() :]}"
    text, period = _without_period(text)
    names, workspace, words = {name.casefold(): name for name in workspaces}, "", []
    for word in _joined(text).split():
        if not workspace and (found_name := names.get(word.lstrip("@").casefold())):
            workspace = found_name
        else:
            words.append(word)
    concepts = [_CONCEPT_OF.get(word.lower()) for word in words]
    by_id = exact.get("id", "")
    is_lead = by_id.startswith("ld_")
    return _Said(
        words=tuple(words),
        concepts=frozenset(filter(None, concepts)),
        rest=tuple(
            word
            for word, known in zip(words, concepts, strict=True)
            if not known and word.lower() not in FILLERS
        ),
        workspace=workspace,
        lead=exact.get("email", "") or (by_id if is_lead else ""),
        sequence="" if is_lead else by_id,
        channel=exact.get("channel", ""),
        domain=exact.get("domain", "").lower(),
        period=period,
        tail=tail,
    )


def _joined(text: str) -> str:
    """With the words that mean something together as one."""
    for concept, pattern in _AROUND:
        text = pattern.sub(rf"{concept} \1 ", text)
    for joined in _JOINED:
        text = re.sub(rf"(?i)(?<!\S){joined.replace('_', ' ')}(?!\S)", joined, text)
    return text


def _without_period(text: str) -> tuple[str, str]:
    lowered = text.lower()
    if found := _DATES.search(lowered):
        (first, month, year, last, last_month, last_year), numbers = found.groups(), [*MONTHS]
        period = (
            f"{year or last_year}-{numbers.index(month) + 1:02}-{int(first):02}.."
            f"{last_year}-{numbers.index(last_month) + 1:02}-{int(last):02}"
        )
    elif found := _DAYS.search(lowered):
        count = {"few": "3", "couple of": "2", None: "1"}.get(found[1], found[1])
        period = found[0] if found[3] else f"{count}{found[2][0]}"
    else:
        said = next((said for said in _PERIODS if re.search(rf"\b{said}\b", lowered)), "")
        if not said or not (found := re.search(rf"\b{said}\b", lowered)):
            return text, ""
        period = _PERIODS[said]
    return f"{text[: found.start()]} {text[found.end() :]}", period


def _stats(said: _Said, by: str = "") -> str:
    return " ".join(filter(None, ("stats", by, said.period)))


def _leads(said: _Said, status: str) -> str:
    return " ".join(filter(None, ("leads", said.name, status)))


def _help(said: _Said) -> Iterable[str]:
    if said.any("help"):
        yield next((f"help {word.lower()}" for word in said.words if find_command(word)), "help")


def _access(said: _Said) -> Iterable[str]:
    if said.any("whoami"):
        yield "whoami"


def _one_lead(said: _Said) -> Iterable[str]:
    if said.lead:
        yield f"{'remove' if said.any('remove', 'pause') else 'lead'} {said.lead}"


def _change(said: _Said) -> Iterable[str]:
    verb = "pause" if said.any("pause") else "resume" if said.any("resume") else ""
    if not verb or said.lead or said.any("why", "who"):
        return
    tail = f" {said.tail}" if said.tail and verb == "pause" else ""
    if said.domain:
        yield f"{verb} domain:{said.domain}{tail}"
    elif said.name:
        yield f"{verb} {said.name}{tail}"
    elif said.any("everything", "sequences") or said.workspace:
        yield f"{verb} all{tail}"


def _rules(said: _Said) -> Iterable[str]:
    if said.any("guard"):
        yield "guardrails"


def _posts(said: _Said) -> Iterable[str]:
    if said.any("subscriptions", "quiet") or said.channel:
        yield f"subscriptions {said.channel}".rstrip()
    if said.any("digest"):
        yield "digest today" if said.period == "today" else "digest now"
    if said.any("report"):
        yield f"report {said.period}" if said.period not in {"", "today"} else "report"


def _groups(said: _Said) -> Iterable[str]:
    if said.any("person") or (said.any("speed") and said.any("replies", "interested", "unclaimed", "who")):
        yield _stats(said, "by person")
    for group in ("step", "variant"):
        if said.any(group):
            yield _stats(said, f"by {group}")


def _changes(said: _Said) -> Iterable[str]:
    if said.any("audit") and not said.any("numbers", "best"):
        yield "audit"


def _ended(said: _Said) -> Iterable[str]:
    if said.any("numbers"):
        return
    if said.any("bounces"):
        yield _leads(said, "bounced")
    if said.any("unsubscribes"):
        yield _leads(said, "unsubscribed")
    if said.any("completed") and said.any("leads", "who"):
        yield _leads(said, "completed")


def _inboxes(said: _Said) -> Iterable[str]:
    if said.domain:
        yield f"domain {said.domain}" if said.any("why", "overview") else f"inboxes {said.domain}"
    elif said.any("inboxes"):
        if said.any("numbers", "best") and not said.any("unhealthy"):
            yield _stats(said, "by inbox")
        yield "inboxes unhealthy" if said.any("unhealthy", "overview", "why") else "inboxes"
    elif said.any("unhealthy"):
        yield "inboxes unhealthy"


def _sequences(said: _Said) -> Iterable[str]:
    state = "paused" if said.any("paused") else "active" if said.any("active") else ""
    if said.any("sequences") and said.any("numbers", "best", "replies"):
        yield _stats(said)
    elif said.any("sequences") or state:
        yield f"sequences {state}".rstrip()


def _replies(said: _Said) -> Iterable[str]:
    if said.any("claimed") and not said.any("who", "numbers"):
        yield "replies mine"
    if said.any("numbers", "best") and said.any("replies", "interested", "meetings"):
        yield _stats(said)
    elif said.any("replies", "interested") and said.period and not (said.name or said.any("unclaimed")):
        yield f"replies {said.period}"
        yield "replies"
    elif said.any("interested", "unclaimed") and (said.name or (said.period and not said.any("unclaimed"))):
        yield _leads(said, "interested")
        yield "replies"
    elif said.any("interested", "unclaimed"):
        yield "replies"
        yield "leads interested"
    elif said.any("replies"):
        yield _leads(said, "replied")
        yield "replies"
    elif said.any("meetings"):
        yield _stats(said)


def _numbers(said: _Said) -> Iterable[str]:
    if said.any("numbers", "best"):
        yield _stats(said)


def _state(said: _Said) -> Iterable[str]:
    if said.any("doctor"):
        yield "doctor"
    if said.any("overview"):
        if said.period not in {"", "today"}:
            yield _stats(said)
        yield "status"


def _others(said: _Said) -> Iterable[str]:
    if said.any("leads", "newest"):
        yield _leads(said, "")
    if said.period:
        yield _stats(said)
    if said.workspace:
        yield "status"


_INTENTS: Sequence[Callable[[_Said], Iterable[str]]] = (
    *(_help, _access, _one_lead, _change, _rules, _posts, _groups, _changes),
    *(_ended, _inboxes, _sequences, _replies, _numbers, _state, _others),
)
"""The more certain ones first."""

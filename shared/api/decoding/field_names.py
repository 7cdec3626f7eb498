"""The possible names of each value: one table, read by `decode`.

A name is compared folded (`fold`): without case, and with letters and digits only, so that `health_score`,
`healthScore`, `health-score` and the nested `health: {score: …}` are one name, `healthscore`. Words that say
nothing (`NEUTRAL`) are left out of a nested name: `attributes: {metrics: {health: {value: …}}}` is `health`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from . import coerce


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NEUTRAL = frozenset(
    _words(
        """attributes attrs attr counts current data details edges fields info items meta metrics node object
    payload properties props record result results stats summary totals value values"""
    )
)
"""Wrappers that add nothing to the meaning of what they hold."""

LIST_NAMES = _words(
    "data items results result records rows entries list values edges nodes response payload content body page embedded"
)
"""Where a list of anything may lie, after its own name."""

NOT_ITEMS = frozenset(
    _words("error errors meta message pagination paging links included total totals summary")
)
"""Names beside a list that are never a member of it."""


@lru_cache(maxsize=8192)  # bounded: the names come from outside
def fold(name: str) -> str:
    """`Health-Score` -> `healthscore`."""
    return "".join(filter(str.isalnum, name)).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One value: how it is read, and its folded names, the documented one first.

    `path` is where the service's document puts the value, spelled exactly, if that isn't its name in the vocabulary.
    """

    read: Callable[[Any], Any]
    names: tuple[str, ...]
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """One kind of object: its section in `[fields.…]`, the names of its list and of itself, and its values.

    `identifier` is the value without which an object is worth nothing, `endpoint` the one that sends the objects.
    """

    section: str
    endpoint: str = ""
    identifier: str = ""
    lists: tuple[str, ...]
    itself: tuple[str, ...]
    terms: Mapping[str, Term]
    ranks: Mapping[str, Mapping[str, int]] = field(init=False)
    """Value -> folded name -> rank; the lowest rank wins, and rank 0 is the documented name."""
    paths: Mapping[str, tuple[str, ...]] = field(init=False)
    """Value -> the exact path that beats every other name."""

    def __post_init__(self) -> None:
        paths = {name: term.path or (name,) for name, term in self.terms.items()}
        object.__setattr__(self, "paths", paths)
        ranks = {name: _ranked(term, self.itself) for name, term in self.terms.items()}
        object.__setattr__(self, "ranks", ranks)


def _ranked(term: Term, itself: tuple[str, ...]) -> dict[str, int]:
    documented, *synonyms = term.names
    names = [documented, *(owner + documented for owner in itself[:1]), *synonyms]
    if term.read is coerce.as_count:
        names += [form for name in term.names for form in _count_forms(name)]
    names += [owner + name for owner in itself for name in names]
    return {name: rank for rank, name in reversed(list(enumerate(names)))}


def _count_forms(name: str) -> tuple[str, ...]:
    one = name.removesuffix("ies") + "y" if name.endswith("ies") else name.removesuffix("s")
    return (
        *(f"{form}{ending}" for form in (one, name) for ending in ("count", "total", "number", "counter")),
        *(f"{prefix}{name}" for prefix in ("total", "num", "numberof", "count", "countof", "no", "noof")),
    )


def _term(read: Callable[[Any], Any], names: str, *, path: str = "") -> Term:
    return Term(read=read, names=_words(names), path=tuple(path.split(".")) if path else ())


IDENTIFIER = "id uid uuid guid key identifier"
STATE = "status state statusname statecode statusvalue statuscode statename statuslabel"

LEAD = Vocabulary(
    section="lead",
    endpoint="GET /leads",
    identifier="id",
    lists=("leads", "contacts", "prospects", "people", "recipients"),
    itself=("lead", "contact", "prospect", "person", "recipient"),
    terms={
        "id": _term(coerce.as_text, IDENTIFIER),
        "email": _term(coerce.as_text, "email emailaddress mail address primaryemail workemail"),
        "status": _term(coerce.as_word, STATE),
        "first_name": _term(coerce.as_text, "firstname givenname first fname forename namefirst namegiven"),
        "last_name": _term(coerce.as_text, "lastname surname familyname last lname namelast namefamily"),
        "company": _term(
            coerce.as_text,
            "company companyname organization organisation organizationname organisationname employer firm",
        ),
    },
)

SEQUENCE = Vocabulary(
    section="sequence",
    endpoint="GET /sequences",
    identifier="id",
    lists=("sequences", "campaigns", "cadences"),
    itself=("sequence", "campaign", "cadence"),
    terms={
        "id": _term(coerce.as_text, IDENTIFIER),
        "name": _term(coerce.as_text, "name title label displayname"),
        "status": _term(coerce.as_word, STATE),
        "steps": _term(coerce.as_count, "steps stages touches"),
    },
)

INBOX = Vocabulary(
    section="inbox",
    endpoint="GET /inboxes",
    identifier="email",
    lists=("inboxes", "mailboxes", "accounts", "senders", "emailaccounts"),
    itself=("inbox", "mailbox", "account", "sender", "emailaccount"),
    terms={
        "email": _term(
            coerce.as_text,
            "email emailaddress address mail inbox mailbox sender fromemail fromaddress from username user login account name",
        ),
        "id": _term(coerce.as_text, IDENTIFIER),
        "health_score": _term(
            coerce.as_number,
            """healthscore health score healthpercent healthpercentage healthindex scorehealth deliverabilityscore
            deliverability reputationscore reputation""",
        ),
        "daily_limit": _term(
            coerce.as_count,
            """dailylimit dailysendlimit dailysendinglimit dailycap dailysendcap dailysendingcap dailyquota
            dailymax maxdaily maxperday limitperday sendsperday perday limitdaily limitsdaily capdaily sendlimit
            sendinglimit sendingcap limit cap quota maxdailysends dailysends limitvalue""",
        ),
        "status": _term(coerce.as_word, STATE),
    },
)

STATS = Vocabulary(
    section="stats",
    endpoint="GET /stats",
    identifier="group",
    lists=("stats", "rows", "groups", "breakdown", "series", "sequences", "steps", "variants", "inboxes"),
    itself=(),
    terms={
        "sends": _term(
            coerce.as_count, "sends sent emailssent messagessent sentemails sentmessages emailsent sendssent"
        ),
        "replies": _term(coerce.as_count, "replies replied responses repliesall allreplies repliesreceived"),
        "positive_replies": _term(
            coerce.as_count,
            """positivereplies repliespositive positive positives positivereply interestedreplies
            repliesinterested interested positiveresponses responsespositive""",
        ),
        "meetings": _term(
            coerce.as_count,
            "meetings meetingsbooked bookedmeetings booked bookings appointments meetingbooked",
        ),
    },
)

STAT_NAMES = frozenset(name for ranks in STATS.ranks.values() for name in ranks)
"""Every folded name of a count."""

SKIPPED = Vocabulary(
    section="skipped",
    lists=("skipped",),
    itself=("lead", "contact"),
    terms={
        "email": _term(coerce.as_text, "email emailaddress mail address value input"),
        "reason": _term(
            coerce.as_text,
            "reason code cause why error errorcode status message errormessage type skipreason",
        ),
    },
)

ADDED = Vocabulary(
    section="added",
    lists=(),
    itself=(),
    terms={
        "added": _term(
            coerce.as_count,
            "added leadsadded addedleads created inserted imported accepted addedcount createdcount",
        )
    },
)

SKIPPED_NAMES = ("skipped", "leadsskipped", "skippedleads", "duplicates", "rejected", "ignored")

WEBHOOK = Vocabulary(
    section="webhook",
    endpoint="POST /webhooks",
    identifier="secret",
    lists=("webhooks",),
    itself=("webhook", "subscription", "hook"),
    terms={
        "secret": _term(
            coerce.as_text, "secret signingsecret webhooksecret signingkey secretkey hmacsecret sharedsecret"
        ),
        "id": _term(coerce.as_text, IDENTIFIER),
    },
)

CURSOR = Vocabulary(
    section="lead",
    lists=(),
    itself=("page", "pageinfo", "paging", "pagination", "cursors", "links", "cursor"),
    terms={
        "next_cursor": _term(
            coerce.as_text,
            """nextcursor next cursornext cursorsnext nextpagecursor nextpagetoken nextpage nexttoken pagetoken
            continuationtoken continuation endcursor after nexthref nexturl cursor""",
        ),
        "has_more": _term(coerce.as_flag, "hasmore hasnext hasnextpage more"),
    },
)

GROUP_NAMES = _words(
    "groupname grouplabel group groupkey groupvalue groupid name label title key bucket dimension"
)
"""What a row of stats may call its group, whatever it is grouped by."""

ERROR = Vocabulary(
    section="error",
    lists=(),
    itself=("error", "errors", "fault"),
    terms={
        "code": _term(coerce.as_text, "code errorcode type error slug", path="error.code"),
        "field": _term(
            coerce.as_text, "field param parameter path pointer loc property attribute", path="error.field"
        ),
        "message": _term(
            coerce.as_text,
            "message detail description msg reason title error errordescription",
            path="error.message",
        ),
    },
)

EVENT = Vocabulary(
    section="event",
    lists=(),
    itself=(),
    terms={
        "kind": _term(
            coerce.as_text, "event eventtype eventname eventkind type kind topic eventvalue", path="event"
        ),
        "email": _term(
            coerce.as_text,
            "leademail leademailaddress leadaddress lead contactemail email emailaddress",
            path="lead.email",
        ),
        "first_name": _term(
            coerce.as_text,
            "leadfirstname leadgivenname leadnamefirst contactfirstname firstname",
            path="lead.first_name",
        ),
        "last_name": _term(
            coerce.as_text,
            "leadlastname leadsurname leadnamelast contactlastname lastname",
            path="lead.last_name",
        ),
        "company": _term(
            coerce.as_text,
            "leadcompany leadcompanyname contactcompany company companyname",
            path="lead.company",
        ),
        "sequence": _term(
            coerce.as_text, "sequence sequencename sequencetitle campaign campaignname sequenceid"
        ),
        "step": _term(coerce.as_count, "step stepnumber stepindex stepposition sequencestep"),
        "reply": _term(
            coerce.as_text,
            "reply replytext replybody replycontent replymessage text message body messagetext snippet",
        ),
        "inbox": _term(
            coerce.as_text,
            "inbox inboxemail inboxaddress inboxemailaddress mailbox mailboxemail sender fromemail inboxname",
        ),
        "domain": _term(coerce.as_text, "domain domainname domaindomain sendingdomain"),
        "return_date": _term(
            coerce.as_text,
            "returndate returnson returnsat backon returnat returning ooountil ooountildate until returndatevalue ooreturndate replyreturndate",
        ),
        "bounce_type": _term(coerce.as_word, "bouncetype bouncekind bounce typebounce bounceclass"),
        "reason": _term(
            coerce.as_text, "reason cause why bouncereason pausereason domainreason error description detail"
        ),
    },
)

"""The possible names of each value: one table, read by `decode`.

A name is compared folded (`fold`): without case, and with letters and digits only, so that `health_score`,
`healthScore`, `health-score` and the nested `health: {score: …}` are one name, `healthscore`. Words that say
nothing (`NEUTRAL`) are left out of a nested name: `attributes: {metrics: {health: {value: …}}}` is `health`.

Only documented and usual names are here; `[fields]` settings give the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


class Vocabulary:
    """One kind of object: its section in `[fields.…]`, the names of its list and of itself, and its values.

    `identifier` is the value without which an object is worth nothing, `endpoint` the one that sends the objects.
    """

    def __init__(
        self,
        section: str,
        *,
        endpoint: str = "",
        identifier: str = "",
        lists: str = "",
        itself: str = "",
        **terms: Term,
    ) -> None:
        self.section, self.endpoint, self.identifier = section, endpoint, identifier
        self.lists, self.itself = _words(lists), _words(itself)
        self.terms: Mapping[str, Term] = terms
        self.paths = {name: term.path or (name,) for name, term in terms.items()}
        """Value -> the exact path that beats every other name."""
        self.ranks = {name: _ranked(term, self.itself) for name, term in terms.items()}
        """Value -> folded name -> rank; the lowest rank wins, and rank 0 is the documented name."""


def _ranked(term: Term, itself: tuple[str, ...]) -> dict[str, int]:
    documented, *synonyms = term.names
    names = [documented, *(owner + documented for owner in itself[:1]), *synonyms]
    if term.read is coerce.as_count:
        names += [form for name in term.names for form in _count_forms(name)]
    names += [owner + name for owner in itself for name in names]
    return {name: rank for rank, name in reversed(list(enumerate(names)))}


def _count_forms(name: str) -> tuple[str, ...]:
    """`replies` -> `replycount`, `repliescount`, `repliestotal`, `totalreplies`, `numberofreplies`."""
    one = name.removesuffix("ies") + "y" if name.endswith("ies") else name.removesuffix("s")
    return f"{one}count", f"{name}count", f"{name}total", f"total{name}", f"numberof{name}"


def _text(names: str, path: str = "") -> Term:
    return Term(read=coerce.as_text, names=_words(names), path=tuple(path.split(".")) if path else ())


def _word(names: str) -> Term:
    return Term(read=coerce.as_word, names=_words(names))


def _count(names: str) -> Term:
    return Term(read=coerce.as_count, names=_words(names))


IDENTIFIER = _text("id uid uuid guid key")
STATE = _word("status state statusname statename")

LEAD = Vocabulary(
    "lead",
    endpoint="GET /leads",
    identifier="id",
    lists="leads contacts prospects",
    itself="lead contact prospect person",
    id=IDENTIFIER,
    email=_text("email emailaddress mail address"),
    status=STATE,
    first_name=_text("firstname givenname first namefirst"),
    last_name=_text("lastname surname familyname last namelast"),
    company=_text("company companyname organization organisation organizationname organisationname"),
)

SEQUENCE = Vocabulary(
    "sequence",
    endpoint="GET /sequences",
    identifier="id",
    lists="sequences campaigns",
    itself="sequence campaign",
    id=IDENTIFIER,
    name=_text("name title label"),
    status=STATE,
    steps=_count("steps"),
)

INBOX = Vocabulary(
    "inbox",
    endpoint="GET /inboxes",
    identifier="email",
    lists="inboxes mailboxes accounts emailaccounts",
    itself="inbox mailbox account emailaccount",
    email=_text("email emailaddress address mail inbox mailbox sender fromemail"),
    id=IDENTIFIER,
    health_score=Term(
        read=coerce.as_number, names=_words("healthscore health score deliverabilityscore reputation")
    ),
    daily_limit=_count(
        "dailylimit dailysendlimit dailysendinglimit dailycap dailyquota limitdaily limitsdaily maxperday "
        "sendlimit sendinglimit limit cap"
    ),
    status=STATE,
)

STATS = Vocabulary(
    "stats",
    endpoint="GET /stats",
    identifier="group",
    lists="stats rows groups sequences steps variants inboxes",
    sends=_count("sends sent emailssent messagessent"),
    replies=_count("replies replied responses"),
    positive_replies=_count("positivereplies repliespositive positive interestedreplies interested"),
    meetings=_count("meetings meetingsbooked booked"),
)

STAT_NAMES = frozenset(name for ranks in STATS.ranks.values() for name in ranks)
"""Every folded name of a count."""

SKIPPED = Vocabulary(
    "skipped",
    lists="skipped",
    itself="lead contact",
    email=_text("email emailaddress mail address value"),
    reason=_text("reason code error errorcode status message type"),
)

ADDED = Vocabulary("added", added=_count("added leadsadded created imported"))

SKIPPED_NAMES = ("skipped", "duplicates", "rejected")

WEBHOOK = Vocabulary(
    "webhook",
    endpoint="POST /webhooks",
    identifier="secret",
    lists="webhooks",
    itself="webhook subscription",
    secret=_text("secret signingsecret webhooksecret signingkey"),
    id=IDENTIFIER,
)

CURSOR = Vocabulary(
    "lead",
    itself="page pageinfo paging pagination cursors cursor links",
    next_cursor=_text(
        "nextcursor next nextpage nextpagetoken nexttoken endcursor after nexthref nexturl cursor"
    ),
    has_more=Term(read=coerce.as_flag, names=_words("hasmore hasnext hasnextpage")),
)

GROUP_NAMES = _words("groupname grouplabel group groupkey groupvalue groupid name label title key")
"""What a row of stats may call its group, whatever it is grouped by."""

ERROR = Vocabulary(
    "error",
    itself="error errors",
    code=_text("code errorcode type error", "error.code"),
    field=_text("field param parameter path pointer", "error.field"),
    message=_text("message detail description title error", "error.message"),
)

EVENT = Vocabulary(
    "event",
    kind=_text("event eventtype eventname type kind", "event"),
    email=_text("leademail leademailaddress leadaddress lead contactemail email", "lead.email"),
    first_name=_text("leadfirstname leadnamefirst contactfirstname firstname", "lead.first_name"),
    last_name=_text("leadlastname leadnamelast contactlastname lastname", "lead.last_name"),
    company=_text("leadcompany leadcompanyname contactcompany company", "lead.company"),
    title=_text("leadtitle leadjobtitle jobtitle", "lead.title"),
    sequence=_text("sequence sequencename sequencetitle campaign campaignname sequenceid"),
    step=_count("step stepnumber stepindex"),
    reply=_text("reply replytext replybody replymessage text message body"),
    inbox=_text("inbox inboxemail inboxaddress mailbox mailboxemail fromemail"),
    domain=_text("domain domainname"),
    return_date=_text("returndate returnson backon returnat until replyreturndate"),
    bounce_type=_word("bouncetype bouncekind bounce"),
    reason=_text("reason cause bouncereason pausereason domainreason error description detail"),
)

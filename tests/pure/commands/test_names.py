"""Other names of commands, plain words for events, and the tasks that help leads with."""

from __future__ import annotations

import pytest

from shared.commands import COMMANDS, UsageError, parse
from shared.commands.guardrails import ACTS
from shared.commands.subscribe import Subscribe
from shared.domain.event_kinds import EVENTS, NAME_OF, word_of


def test_every_form_in_the_usage_of_guardrails_is_understood() -> None:
    usage = COMMANDS["guardrails"].usage.removeprefix("[").removesuffix("]").replace("[", "").replace("]", "")
    forms = [
        form.replace("RULE", "notify when health < 40").replace("NAME", "low") for form in usage.split("|")
    ]
    acts = {parse(f"guardrails {form}").arguments.act for form in forms}  # type: ignore[attr-defined]
    assert acts == set(ACTS)
    assert any(" as " in form for form in forms)
    assert any(" for " in form for form in forms)


@pytest.mark.parametrize(
    ("typed", "kinds"),
    [
        ("bounces", ("lead.bounced",)),
        ("Bounces, opt-outs", ("lead.bounced", "lead.unsubscribed")),
        ("opt outs", ("lead.unsubscribed",)),
        ("interested", ("reply.interested",)),
        ("interested replies", ("reply.interested",)),
        ("interested, replies", ("reply.interested", "lead.replied")),
        ("replies interested", ("lead.replied", "reply.interested")),
        ("out of office replies", ("reply.ooo",)),
        ('"paused domains" bounces', ("domain.paused", "lead.bounced")),
        ("completed sequences", ("sequence.completed",)),
        ("dns", ("domain.dns",)),
        ("lead.bounced bounced bounces", ("lead.bounced",)),
        ("all", tuple(EVENTS)),
    ],
)
def test_events_have_plain_words(typed: str, kinds: tuple[str, ...]) -> None:
    arguments = parse(f"subscribe {typed} here").arguments
    assert arguments == Subscribe(events=kinds)
    assert parse(arguments.line).arguments == arguments


def test_each_kind_of_event_has_a_word_of_its_own() -> None:
    words = [word for kind in EVENTS.values() for word in kind.words]
    assert len(words) == len(set(words))
    assert all(NAME_OF[word_of(name)] == name for name in EVENTS)


def test_a_filter_by_domain_is_written_as_such() -> None:
    arguments = parse("subscribe bounces domain=mail.acme.com here").arguments
    assert arguments == parse("subscribe bounces inbox=mail.acme.com here").arguments
    assert arguments.line == "subscribe bounces domain=mail.acme.com"
    one = parse("subscribe bounces inbox=ann@mail.acme.com here").arguments
    assert one.line == "subscribe bounces inbox=ann@mail.acme.com"


@pytest.mark.parametrize("typed", ["pasue", "stats7d please now", "xyzzy west coast"])
def test_nothing_is_offered_where_the_other_words_do_not_fit(typed: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(typed)
    assert "“" not in refused.value.card.text[0]
    assert refused.value.card.buttons

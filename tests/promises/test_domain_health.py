"""DNS of the sending domains: two resolvers confirm what is broken, and one card tells it with what to do."""

from __future__ import annotations

import pytest

from tests.kit import Account, Message, Run, Shell, Team, bounced, paused_domain

DOMAIN = "useacme.example"
SECOND = "v=spf1 include:spf.bulk-mailer.example -all"
MERGED = "v=spf1 include:_spf.google.com include:spf.bulk-mailer.example ~all"


async def watch(team: Team) -> None:
    """Have a bot that has looked at the one domain of the account, and found it good."""
    await team.stop()
    inboxes = (await team.account.request("GET", "/inboxes"))["data"]
    own = [one for one in inboxes if one["email"].endswith(f"@{DOMAIN}")]
    team.account.answer("GET /inboxes", {"data": own, "next_cursor": None})
    team.environ["OUTREACH_DNS_ENABLED"] = "true"
    team.environ["OUTREACH_DNS_RESOLVERS"] = ",".join(team.account.resolvers)
    team.set('[dns]\nevery = "1m"\n')
    await team.start()
    await check(team)


async def check(team: Team) -> None:
    """The next look at the domain, by both resolvers, to its end."""
    before = await queries(team)

    async def looked() -> bool:
        await team.pass_time(minutes=2)
        return await queries(team) > before

    await team.until(looked, "a look at the domain")
    await team.settled()


async def queries(team: Team) -> int:
    return int((await team.account.control("GET", "dns"))["queries"])


async def change(account: Account, what: str) -> None:
    """Break something in the zone of the domain."""
    await account.control("POST", "dns/changes", domain=DOMAIN, change=what)


async def repair(account: Account) -> None:
    await account.control("DELETE", f"dns/changes?domain={DOMAIN}")


async def cards(team: Team) -> list[Message]:
    return [one for one in await team.messages() if one.alert_id and DOMAIN in one.shown]


async def broken(team: Team) -> Message:
    """The card of the broken DNS, some looks later."""

    async def there() -> Message | None:
        await check(team)
        return next((one for one in await cards(team) if "SPF" in one.shown), None)

    card: Message = await team.until(there, "a card that names SPF")
    return card


async def test_broken_dns_is_told_with_the_records_and_what_to_do(team: Team) -> None:
    """It is told in the alert channel, though nobody has subscribed to it, and before any pause."""
    await watch(team)
    assert await cards(team) == []
    await change(team.account, "second_spf")
    card = await broken(team)
    assert SECOND in card.shown
    assert MERGED in card.shown
    assert (await team.ask(f"domain {DOMAIN}")).title.endswith("its DNS is broken")


async def test_what_a_rule_finds_stands_in_the_thread_of_the_domains_broken_dns(team: Team) -> None:
    await watch(team)
    await change(team.account, "second_spf")
    dns = await broken(team)
    line = 'guardrails add "notify about domain when bounces > 3 in 1h" as sinking'
    await team.ask(line)
    for number in range(5):
        await team.deliver(bounced(f"bob{number}", inbox=f"sam@{DOMAIN}"))
    await team.settled()

    async def found() -> bool:
        await team.pass_time(seconds=35)
        return any("sinking" in one.shown for one in await team.thread(dns))

    assert await team.until(found, "what the rule found")
    others = [one for one in await team.mentioned() if one.data.get("thread_ts") in {None, one.ts}]
    assert not any("sinking fired" in one.shown for one in others)


async def test_the_bounces_of_a_domain_decide_what_its_card_advises(team: Team) -> None:
    await team.deliver(paused_domain(DOMAIN, reason=None))
    card = await team.card(f"{DOMAIN} is paused")
    await team.changed(card, "check its inboxes")
    for number in range(9):
        await team.deliver(bounced(f"bob{number}", inbox=f"sam@{DOMAIN}"))
        await team.deliver(bounced(f"rob{number}", inbox="sam@another.example", event="lead.unsubscribed"))
    await team.settled()

    async def advised() -> bool:
        await team.pass_time(seconds=11)
        return "verify the addresses" in (await team.present(card)).shown

    assert await team.until(advised, "advice by what was counted")


async def test_what_one_resolver_alone_sees_is_told_to_nobody(team: Team) -> None:
    await watch(team)
    # One resolver lies, the other one is right.
    await team.account.control("POST", "dns/faults", kind="lie", name=DOMAIN, type="TXT", resolver=1)
    await check(team)
    await check(team)
    assert await cards(team) == []
    await team.account.control("DELETE", "dns/faults")
    await change(team.account, "second_spf")
    await broken(team)
    assert len(await cards(team)) == 1


async def test_dns_that_is_good_again_is_told_on_the_same_card(team: Team) -> None:
    await watch(team)
    await change(team.account, "second_spf")
    card = await broken(team)
    await repair(team.account)

    async def good() -> bool:
        await check(team)
        return "good again" in (await team.present(card)).title

    assert await team.until(good)
    assert len(await cards(team)) == 1
    assert "After " in (await team.in_thread(card, "is good again")).part("is good again")
    page = (await team.ask(f"domain {DOMAIN}")).shown
    assert page.index("CET  SPF: good again") < page.index("CET  SPF: 2 records, and only one is allowed")


async def test_the_card_of_a_paused_domain_says_what_is_wrong_with_its_dns_and_what_to_publish(
    team: Team,
) -> None:
    await watch(team)
    await team.deliver(paused_domain(DOMAIN, reason="Bounce rate 7.1%"))
    card = await team.card(f"{DOMAIN} is paused")

    async def known(words: str) -> bool:
        await check(team)
        return words in (await team.present(card)).shown

    await team.until(lambda: known("DNS good"), "the look after the pause")
    assert await known("DNS good"), "until it is looked at again, and from then on"
    await change(team.account, "second_spf")
    await team.until(lambda: known(MERGED), "what to publish")
    assert "SPF" in (await team.present(card)).shown


async def test_broken_dns_and_the_pause_of_its_domain_are_one_card(team: Team) -> None:
    """The card about DNS came first: from the pause on it points to that of the pause."""
    await watch(team)
    await change(team.account, "second_spf")
    dns = await broken(team)
    await team.deliver(paused_domain(DOMAIN, reason="Bounce rate 7.1%"))
    card = await team.card(f"{DOMAIN} is paused")

    async def told() -> bool:
        await check(team)
        shown, pointer = await team.present(card), await team.present(dns)
        return MERGED in shown.shown and MERGED not in pointer.shown

    assert await team.until(told, "all of it on one card")
    assert "see the card of its pause" in (await team.present(dns)).title
    own = (await team.account.request("GET", "/inboxes"))["data"]
    team.account.forget_answers()
    team.account.answer("GET /inboxes", {"data": [{**one, "status": "resting"} for one in own]})
    assert "before it was paused" in (await team.ask(f"domain {DOMAIN}")).shown


async def test_the_card_of_a_paused_domain_says_when_it_sends_again_and_is_well(team: Team) -> None:
    listed = (await team.account.request("GET", "/inboxes"))["data"]
    own = [one for one in listed if one["email"].endswith(f"@{DOMAIN}")]

    async def stand(status: str, health: int) -> None:
        team.account.forget_answers()
        rows = [{**one, "status": status, "health_score": health} for one in own]
        team.account.answer("GET /inboxes", {"data": rows, "next_cursor": None})
        await team.pass_time(minutes=1)

    await stand("resting", 20)
    await team.deliver(paused_domain(DOMAIN))
    card = await team.card(f"{DOMAIN} is paused")
    assert f"{len(own)} inboxes resting, lowest health 20" in (await team.changed(card, "resting")).shown
    await team.pass_time(minutes=5)
    reminder = await team.in_thread(card, "Not acknowledged yet")
    await stand("warming", 60)
    assert "daily limits start small" in (await team.changed(card, f"{DOMAIN} is sending again")).shown
    await stand("active", 95)
    assert "It recovered after" in (await team.changed(card, f"{DOMAIN} has recovered")).shown
    assert f"{DOMAIN} has recovered" in (await team.in_thread(card, "lowest health 95")).part(
        "lowest health 95"
    )
    assert "Acknowledge" not in (await team.changed(reminder, f"{DOMAIN} has recovered")).buttons
    assert "Recovered" in (await team.ask(f"domain {DOMAIN}")).shown


CAUSES = {
    "no_mx": ("mx", "Add the MX record at useacme.example."),
    "no_spf": ("spf", "Add the TXT record at useacme.example: v=spf1 include:_spf.google.com ~all"),
    "second_spf": ("spf", f"Merge them into one TXT record at useacme.example: {MERGED}"),
    "invalid_spf": ("spf", "Correct the TXT record at useacme.example (inclde:_spf.google.com)."),
    "too_many_lookups": ("spf", "Remove includes that you no longer need from the TXT record at"),
    "no_dmarc": ("dmarc", "Add the TXT record at _dmarc.useacme.example: v=DMARC1; p=none"),
    "weak_dkim": ("dkim", "publish it as the TXT record at google._domainkey.useacme.example."),
    "gone": ("mx", "Ask your registrar whether useacme.example has expired"),
}


async def look_up(account: Account, shell: Shell, *words: str) -> Run:
    """`outreach domain`, without a bot that has checked anything before."""
    shell.use(account.environ)
    shell.set("OUTREACH_DNS_RESOLVERS", ",".join(account.resolvers))
    run = await shell.type("domain", DOMAIN, *words)
    assert run.code == 0, run.err
    return run


async def test_a_domain_is_looked_up_at_once_for_who_asks(account: Account, shell: Shell) -> None:
    run = await look_up(account, shell)
    assert "never checked" not in run.out
    assert all(
        any(name in line and "good" in line for line in run.out.splitlines())
        for name in ("MX", "SPF", "DMARC", "DKIM")
    )


@pytest.mark.parametrize("what", CAUSES)
async def test_each_cause_of_broken_dns_has_its_advice(account: Account, shell: Shell, what: str) -> None:
    await change(account, what)
    (row,) = (await look_up(account, shell, "--json")).data
    name, advice = CAUSES[what]
    (found,) = [one for one in row["dns"]["checks"] if one["check"] == name]
    assert (found["value"], found["confirmed"]) == ("problem", True)
    assert advice in found["advice"]
    assert any(advice in one for one in row["advice"])
    assert any(name.upper() in one for one in row["why"])


async def test_what_the_resolvers_do_not_agree_on_is_unknown_and_no_problem(
    account: Account, shell: Shell
) -> None:
    await account.control("POST", "dns/faults", kind="lie", name=DOMAIN, type="TXT", resolver=1)
    (row,) = (await look_up(account, shell, "--json")).data
    values = {one["check"]: one["value"] for one in row["dns"]["checks"]}
    assert values["mx"] == "good"
    # The lie is about TXT records alone, so that MX stays known.
    assert values["spf"] is values["dmarc"] is None
    assert row["advice"] == []

"""What leads write back: composed, so that a day of replies does not repeat itself, and now and then hostile."""

from __future__ import annotations

from sandbox.service.base.seeded_random import pick, rolls

_HELLO = (
    "Hi {me}, ",
    "Hi, ",
    "Hello {me}, ",
    "Hey {me}, ",
    "{me}, ",
    "Good morning, ",
    "",
    "",
    "Thanks for writing. ",
)

_KEEN = (
    "this actually lands at the right moment: our current setup at {company} is up for renewal.",
    "we have been losing hours to exactly this.",
    "your second point hit home.",
    "I forwarded this to our ops lead and she wants to see it.",
    "I was sceptical, but the numbers you quote would matter to us.",
    "we tried to build this ourselves last year and gave up.",
    "{company} is growing faster than our process, so yes.",
    "not bad for a cold email.",
    "we talked about this in Monday's meeting.",
    "good timing. Budget for next quarter is being settled this week.",
    "I like that you did not open with a compliment.",
    "our board asked me about this only yesterday.",
    "happy to hear more.",
    "we are comparing three vendors and you are not among them yet.",
)

_ASK = (
    "Could you do Tuesday at 10?",
    "What does it cost for a team of 40?",
    "Can you send two slots for next week?",
    "Do you have a customer in our industry I could talk to?",
    "How long does it take to get started?",
    "Please send a short deck, I will bring it to the team.",
    "Does it work with our CRM?",
    "Let's talk, Thursday afternoon is open.",
    "Would a 20-minute call on Friday suit you?",
    "Please include Marta from procurement in the invite.",
    "Is there a trial?",
    "Send me your calendar link.",
    "Who else at {company} have you spoken to?",
    "Call me, my number is in the signature.",
)

_BYE = (
    "",
    "",
    "Best, {first}",
    "Thanks, {first}",
    "{first}",
    "Cheers\n{first}",
    "Kind regards\n{first} {last}\n{company}",
)

_LUKEWARM = (
    "not a priority this quarter, maybe ask again in the spring.",
    "we are happy with what we have.",
    "I am not the right person, try our purchasing team.",
    "thanks, but we just signed with somebody else.",
    "no budget until January.",
    "how did you get my address?",
    "we are a team of three, I doubt this is for us.",
    "I left that department in May.",
    "interesting, but we do this in house.",
    "please send this in writing to our head office.",
    "is this a person or a robot?",
    "I will keep it in mind.",
    "we have a hiring freeze, so nothing new for now.",
    "wrong company, we sell garden furniture.",
)

_AWAY = (
    "I am out of the office until {date} with limited access to email.",
    "Thank you for your message. I am on leave and return on {date}.",
    "Auto-reply: travelling this week, back on {date}. For urgent matters please contact the front desk.",
    "I am on parental leave until {date}. {company}'s team mailbox is read daily.",
    "Out of office. I will answer after {date}.",
)

_STOP = (
    "Please remove me from your list.",
    "Unsubscribe",
    "STOP",
    "Take me off this, thanks.",
    "Do not contact me again.",
    "I did not ask for this. Remove my address.",
)

NASTY = (
    "<!channel> free money at <https://bank.example|your bank> *now*",
    "*bold* _italics_ ~struck~ `code` ```block``` > quote & <@U0000001>",
    '=HYPERLINK("http://evil.example","Click me")',
    "+1-2@SUM(1+1)*cmd|' /C calc'!A0",
    "Sounds great 🎉👩🏽‍💻🇧🇷 – let's talk ☎️",
    "\x1b[31mred\x1b[0m \x1b[2J\x1b]0;owned\x07 and [bold red]markup[/]",
    "\u202eknab ruoy ot kcilc\u202c  مرحبا، نود معرفة المزيد",
    "<script>alert('hi')</script><img src=x onerror=alert(1)> interested!",
    "Yes. " + "We would like to know more about it. " * 60,
)
_NASTY_SHARE = 0.02


def reply_text(
    kind: str, *, key: object, me: str, first: str, last: str, company: str, date: str = ""
) -> str:
    """The text of a reply: `interested`, `reply`, `ooo` or `unsubscribe`; the same key writes the same text."""
    chances = rolls("reply", kind, key)
    if kind in {"interested", "reply"} and chances[7] < _NASTY_SHARE:
        return pick(NASTY, chances[6])
    text = _compose(kind, chances)
    return text.format(
        me=me, first=first or "", last=last or "", company=company or "our company", date=date
    ).strip()


def _compose(kind: str, chances: tuple[float, ...]) -> str:
    if kind == "ooo":
        return pick(_AWAY, chances[0])
    if kind == "unsubscribe":
        return pick(_STOP, chances[0])
    hello, bye = pick(_HELLO, chances[0]), pick(_BYE, chances[3])
    if kind == "reply":
        return _sentence(hello, pick(_LUKEWARM, chances[1])) + f"\n{bye}"
    return _sentence(hello, pick(_KEEN, chances[1])) + f" {pick(_ASK, chances[2])}\n{bye}"


def _sentence(hello: str, words: str) -> str:
    if hello.endswith(", "):
        return hello + words
    return hello + words[0].upper() + words[1:]

from __future__ import annotations

from bot.store.alerts import confirmations
from bot.store.alerts.confirmations import Answered, Question, Verdict
from tests.bot.harness import BotHarness

QUESTION = Question(line="remove ld_1 --yes", person="U1ANN", workspace="default")


async def test_a_question_is_answered_by_who_was_asked_once_and_in_time(bot: BotHarness) -> None:
    assert bot.running is not None
    store = bot.running.ledger.store

    async def asked(question: Question = QUESTION) -> str:
        return await store.write(lambda c: confirmations.ask(c, question, now=1000.0, seconds=600))

    async def given(nonce: str, person: str, at: float) -> Answered:
        return await store.write(lambda c: confirmations.answer(c, nonce, person, now=at))

    first = await asked()
    assert (await given(first, "U2BEN", 1001)).verdict is Verdict.NOT_YOURS
    taken = await given(first, "U1ANN", 1002)
    assert (taken.verdict, taken.question) == (Verdict.TAKEN, QUESTION)
    assert (await given(first, "U1ANN", 1003)).verdict is Verdict.GIVEN
    assert (await given(await asked(), "U1ANN", 1601)).verdict is Verdict.LATE
    assert (await given("q_none", "U1ANN", 1001)).verdict is Verdict.UNKNOWN
    anybodys = await asked(
        Question(line="resume all", person="", workspace="default", names=("sq_1", "sq_2"))
    )
    told = await given(anybodys, "U3CLEO", 1001)
    assert told.question is not None
    assert told.question.names == ("sq_1", "sq_2")

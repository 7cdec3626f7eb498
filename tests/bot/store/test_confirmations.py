from __future__ import annotations

from bot.store import Store
from bot.store.alerts.changes import Question
from bot.store.alerts.confirmations import Verdict
from tests.bot.manual_clock import ManualClock

QUESTION = Question(line="remove ld_1 --yes", person="U1ANN", workspace="default")


async def test_a_question_is_answered_once_in_time_and_only_by_the_person_who_was_asked(
    store: Store, clock: ManualClock
) -> None:
    confirmations = store.confirmations

    async def ask(question: Question = QUESTION) -> str:
        return await confirmations.ask(question, seconds=600)

    first = await ask()
    assert (await confirmations.answer(first, "U2BEN")).verdict is Verdict.NOT_YOURS
    taken = await confirmations.answer(first, "U1ANN")
    assert (taken.verdict, taken.question) == (Verdict.TAKEN, QUESTION)
    assert (await confirmations.answer(first, "U1ANN")).verdict is Verdict.GIVEN
    late = await ask()
    clock.now += 601
    assert (await confirmations.answer(late, "U1ANN")).verdict is Verdict.LATE
    assert (await confirmations.answer("q_none", "U1ANN")).verdict is Verdict.UNKNOWN
    anybodys = await ask(Question(line="resume all", person="", workspace="default", names=("sq_1", "sq_2")))
    answered = await confirmations.answer(anybodys, "U3CLEO")
    assert answered.question is not None
    assert answered.question.names == ("sq_1", "sq_2")

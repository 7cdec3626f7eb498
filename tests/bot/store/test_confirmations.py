from __future__ import annotations

from bot.store import Store
from bot.store.alerts.changes import Question
from bot.store.alerts.confirmations import Verdict
from shared.domain.wall_clock import moment
from shared.records.audit import AuditEntry
from tests.bot.manual_clock import ANN, ManualClock

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


async def test_only_the_undos_of_what_was_changed_since_are_overtaken(
    store: Store, clock: ManualClock
) -> None:
    def paused(*sequences: str) -> AuditEntry:
        return AuditEntry(
            at=moment(clock.now),
            actor=ANN,
            workspace="default",
            command="pause",
            result="",
            effect="paused",
            sequences=sequences,
        )

    async def undo(*names: str) -> str:
        return await store.confirmations.ask_undo(
            "resume", names, workspace="default", person=ANN.id, seconds=600
        )

    await store.records.record(paused("sq_1", "sq_2"))
    both = await undo("sq_1", "sq_2")
    await store.records.record(paused("sq_3"))
    third = await undo("sq_3")
    await store.records.record(paused("sq_1"))
    assert await store.confirmations.undo_ended(both) == ("", "")
    again = await undo("sq_1")
    await store.records.record(paused("sq_2"))
    ended = [await store.confirmations.undo_ended(nonce) for nonce in (both, third, again)]
    assert ended == [("", ANN.name), ("", ""), ("", "")]

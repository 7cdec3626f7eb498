from __future__ import annotations

from shared.domain.wall_clock import moment
from shared.records.audit import AuditEntry, Before
from shared.store import Store
from shared.store.audit import Verdict
from tests.bot.manual_clock import ANN, ManualClock


async def test_a_question_is_answered_once_in_time_and_only_by_the_person_who_was_asked(
    store: Store, clock: ManualClock
) -> None:
    kept = store.confirmations

    async def ask() -> str:
        return await kept.ask("{}", person="U1ANN", workspace="default", seconds=600)

    first = await ask()
    assert (await kept.look(first, "U2BEN")).verdict is Verdict.NOT_YOURS
    assert (await kept.look(first, "U1ANN")).verdict is Verdict.OPEN
    assert [await kept.take(first) for _ in range(2)] == [True, False]
    await kept.settle(first, "done")
    given = await kept.look(first, "U1ANN")
    assert (given.verdict, given.result) == (Verdict.GIVEN, "done")
    late = await ask()
    clock.now += 601
    assert (await kept.look(late, "U1ANN")).verdict is Verdict.LATE
    assert (await kept.look("q_none", "U1ANN")).verdict is Verdict.UNKNOWN


async def test_only_the_undos_of_what_was_changed_since_are_overtaken(
    store: Store, clock: ManualClock
) -> None:
    async def pause(*sequences: str) -> int:
        before = {name: Before(label=name, status="active") for name in sequences}
        entry = AuditEntry(
            at=moment(clock.now),
            actor=ANN,
            workspace="default",
            command="pause",
            result="",
            effect="paused",
            sequences=sequences,
            undoable=before,
        )
        return await store.records.record(entry)

    async def overtaken(*numbers: int) -> list[str]:
        found = [await store.records.undoable("default", number) for number in numbers]
        return [one.entry.overtaken_by for one in found if one]

    both, third, again = await pause("sq_1", "sq_2"), await pause("sq_3"), await pause("sq_1")
    assert await overtaken(both) == [""]
    await pause("sq_2")
    assert await overtaken(both, third, again) == [ANN.name, "", ""]

"""What the prompt offers."""

from __future__ import annotations

from tui.screens.prompt import suggestions


def test_the_prompt_offers_commands_and_then_sequences() -> None:
    known = ("Q3 founders", "Webinar")
    assert [line for line, _ in suggestions("pau", sequences=known, keys=())] == [
        "pause SEQUENCE [for 2h] [reason …]"
    ]
    assert suggestions("pause web", sequences=known, keys=()) == [("pause Webinar", "")]
    assert suggestions("pause ", sequences=known, keys=())[0] == ('pause "Q3 founders"', "")

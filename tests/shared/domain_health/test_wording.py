from __future__ import annotations

import pytest

from shared.domain_health.report import Action, Advice, Check, CheckReport, Code, Value
from shared.domain_health.wording import advice_of, headline
from tests.shared.domain_health.zones import DOMAIN, GOOD, Zones, judged, txt


def test_a_second_spf_record_is_told_with_the_record_to_make_of_both() -> None:
    zones = Zones(
        GOOD,
        f"{DOMAIN}. TXT {txt('v=spf1 include:_spf.google.com ~all')}",
        '_spf.google.com. TXT "v=spf1 -all"',
    )
    found = judged(zones)[Check.SPF]
    assert headline(found) == "SPF: 2 records, and only one is allowed"
    assert advice_of(found) == (
        "Merge them into one TXT record at acme.example: v=spf1 include:_spf.google.com ip4:192.0.2.0/24 ~all"
    )


@pytest.mark.parametrize("code", list(Code))
def test_every_code_has_words(code: Code) -> None:
    said = headline(CheckReport(check=Check.SPF, code=code, about="{count} & <x>", count=2))
    assert said.startswith("SPF: ")
    assert "{" not in said.replace("{count}", "")


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("value", ["", "v=spf1 {name} -all"])
def test_every_action_has_words(action: Action, value: str) -> None:
    advice = Advice(action=action, name=DOMAIN, value=value, about="include:{x}")
    problem = CheckReport(check=Check.SPF, value=Value.PROBLEM, code=Code.MISSING, advice=advice)
    said = advice_of(problem)
    assert said[0].isupper()
    assert "{" not in said.replace("{name}", "").replace("{x}", "")

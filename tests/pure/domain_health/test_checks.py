"""Each check's verdict on zones in memory."""

from __future__ import annotations

import pytest

from shared.domain.dns_facts import advice_of
from shared.domain_health.report import Check, CheckReport, Code
from tests.pure.domain_health.zones import DOMAIN, GOOD, Zones, judged, txt

MAIL = "\n".join(line for line in GOOD.splitlines() if "spf1" not in line)
RSA_1024 = (
    "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC6qUmji7E7Q5crXTe5HqSC6ukH1qYriUPU"
    "7kzhxVpcDGd/TivOJ2mtNX0aG32MmBKvUs39qYZDz3+Y0hasJ61wWiZ1Uvj3wz9MF8GweMTq"
    "G3MUxF6eaLzTStAojZ9dT2pIQ0dz2j3Nby2hKUVA1Vdof8H9LONTTyR6jVATlcBzUwIDAQAB"
)
RSA_512 = (
    "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKpXj6yNGTqmGXqKaSVuyKZq3tVb+dv1"
    "xxUvgYQGMu3DYe3f1WO2g4Y8tBcV9kGHP3zu0mQ4h1VYxB1WOUuvJ0kCAwEAAQ=="
)


def spf(*records: str, more: str = "") -> CheckReport:
    lines = "\n".join(f"{DOMAIN}. TXT {txt(record)}" for record in records)
    return judged(Zones(MAIL, lines, more))["spf"]


def test_a_good_domain_is_good_in_all_that_is_read() -> None:
    found = judged(Zones(GOOD))
    assert {check: one.value for check, one in found.items()} == {
        "mx": "good",
        "spf": "good",
        "dmarc": "good",
        "dkim": "unknown",
    }
    assert found["dkim"].code == "no-key-found"
    assert found["spf"].records == ("v=spf1 ip4:192.0.2.0/24 -all",)


@pytest.mark.parametrize(
    ("records", "code"),
    # RFC 7505: `0 .` says that the domain takes no mail.
    [(["10 mx.acme.example."], "fine"), ([], "missing"), (["0 ."], "null-mx")],
)
def test_mail_needs_an_mx(records: list[str], code: Code) -> None:
    zones = Zones(GOOD)
    zones.remove(DOMAIN, "MX")
    zones.add(*(f"{DOMAIN}. MX {one}" for one in records))
    assert judged(zones)["mx"].code == code


@pytest.mark.parametrize(
    "record",
    [
        # https://www.rfc-editor.org/rfc/rfc7208, sections 3, 5.3 to 5.7, 7.4, and appendix A
        "v=spf1 a mx -all",
        "v=spf1 a/24//64 -all",
        "v=spf1 mx:acme.example//64 -all",
        "v=spf1 ip4:192.0.2.128/28 ip4:192.0.2.1 ip6:2001:db8::/32 -all",
        "v=spf1 exists:%{ir}.%{l1r+-}._spf.%{d} -all",
        "v=spf1 exists:%{d4-/+,_=}.acme.example -all",
        "v=spf1 mx exp=%{c}.acme.example -all",
        "v=spf1 ptr:acme.example -all",
        "v=spf1 moo=what%%ever%_%- -all",
        "V=SPF1 IP4:192.0.2.1 -ALL",
        "v=spf1  ip4:192.0.2.1   -all ",
        "v=spf1 redirect=_ok.acme.example",
        "v=spf1 -all redirect=nowhere.example",
        "v=spf1 a -all include:nowhere.example",
    ],
)
def test_a_valid_spf_record_is_good(record: str) -> None:
    more = '_ok.acme.example. TXT "v=spf1 -all"\nacme.example. A 192.0.2.9'
    assert spf(record, more=more).code == "fine"


@pytest.mark.parametrize(
    "record",
    [
        "v=spf1 ipv4:192.0.2.1 -all",
        "v=spf1 ip4:192.0.2.256 -all",
        "v=spf1 ip4:192.0.2.1/33 -all",
        "v=spf1 ip4:192.0.2.0/024 -all",
        "v=spf1 ip6:192.0.2.1 -all",
        "v=spf1 include -all",
        "v=spf1 a:/24 -all",
        "v=spf1 a/33 -all",
        "v=spf1 mx/24/64 -all",
        "v=spf1 -all:acme.example",
        "v=spf1 ~redirect=acme.example",
        "v=spf1 redirect=a.example redirect=b.example",
        "v=spf1 exists:%{d.acme.example -all",
        "v=spf1 exists:%acme.example -all",
        "v=spf1 all all:x",
        "v=spf1 ,ip4:192.0.2.1 -all",
        "v=spf1 a:ä.example -all",
        "v=spf1\tip4:192.0.2.1 -all",
    ],
)
def test_an_invalid_spf_record_is_a_problem(record: str) -> None:
    found = spf(record)
    assert found.value == "problem"
    assert found.code in {"syntax", "missing"}


@pytest.mark.parametrize(
    ("record", "code"),
    [("v=spf1 +all", "allows-all"), ("v=spf1 all", "allows-all"), ("v=spf1 ?all", "fine")],
)
def test_what_an_spf_record_says_of_other_servers_counts(record: str, code: Code) -> None:
    assert spf(record).code == code


def includes(count: int) -> str:
    return "\n".join(f'i{n}.example. TXT "v=spf1 ip4:192.0.2.{n} -all"' for n in range(count))


# RFC 7208, section 4.6.4: more than ten look-ups are a permanent error.
@pytest.mark.parametrize(("count", "code"), [(10, "fine"), (11, "too-many-lookups")])
def test_an_spf_record_may_need_ten_look_ups(count: int, code: Code) -> None:
    record = " ".join(["v=spf1", *(f"include:i{n}.example" for n in range(count)), "-all"])
    found = spf(record, more=includes(count))
    assert found.code == code


# RFC 7208, section 4.6.4: more than two look-ups that find nothing should be one as well.
@pytest.mark.parametrize(("count", "code"), [(2, "fine"), (3, "too-many-voids")])
def test_an_spf_record_may_ask_in_vain_twice(count: int, code: Code) -> None:
    record = " ".join(["v=spf1", *(f"a:gone{n}.example" for n in range(count)), "-all"])
    assert spf(record).code == code


def test_an_include_of_a_domain_without_a_record_breaks_the_record() -> None:
    found = spf("v=spf1 include:gone.example -all")
    assert (found.code, found.about) == ("broken-include", "gone.example")
    assert advice_of(found) == f"Remove or correct gone.example in the TXT record at {DOMAIN}."


@pytest.mark.parametrize("kind", ["include:{} -all", "redirect={}"])
def test_a_record_that_includes_itself_is_a_loop(kind: str) -> None:
    more = f"b.example. TXT {txt('v=spf1 ' + kind.format(DOMAIN))}"
    found = spf(f"v=spf1 {kind.format('b.example')}", more=more)
    assert (found.code, found.about) == ("loop", DOMAIN)


def dmarc(*records: str, at: str = DOMAIN, domain: str = DOMAIN) -> CheckReport:
    zones = Zones("\n".join(line for line in GOOD.splitlines() if "_dmarc" not in line))
    zones.add(*(f"_dmarc.{at}. TXT {txt(record)}" for record in records))
    return judged(zones, domain)["dmarc"]


@pytest.mark.parametrize(
    "record",
    [
        # https://www.rfc-editor.org/rfc/rfc9989, section 4.7 and appendix B
        "v=DMARC1; p=none; rua=mailto:dmarc-feedback@example.com",
        "v=DMARC1; p=none; rua=mailto:dmarc-feedback@example.com; ruf=mailto:auth-reports@example.com",
        "v=DMARC1; p=quarantine; rua=mailto:dmarc-feedback@example.com,mailto:tld-test@thirdparty.example.net; t=y",
        "v=DMARC1;p=reject",
        "v = DMARC1 ; p = reject ; adkim=s; aspf=r; pct=20;",
        "v=DMARC1; p=reject; unknown=tag; np=reject",
        "v=DMARC1; p=frobnicate; rua=mailto:d@example.com",
    ],
)
def test_a_valid_dmarc_record_is_good(record: str) -> None:
    assert dmarc(record).value == "good"


@pytest.mark.parametrize(
    "record",
    [
        "v=DMARC1 p=reject",
        "v=DMARC1; p=frobnicate",
        "v=DMARC1; reject",
        "v=dmarc1; p=none",
        "v=DMARC1; p=none; p=none",
    ],
)
def test_an_invalid_dmarc_record_is_a_problem(record: str) -> None:
    found = dmarc(record)
    assert (found.code, found.records) == ("syntax", (record,))


def test_of_two_dmarc_records_the_stricter_one_is_kept() -> None:
    found = dmarc("v=DMARC1; p=none", "v=DMARC1; p=reject")
    assert (found.code, found.count) == ("several", 2)
    assert found.publish == "v=DMARC1; p=reject"


@pytest.mark.parametrize("at", ["acme.co.uk", "eu.mail.acme.co.uk", "mail.acme.co.uk"])
def test_a_subdomain_has_the_dmarc_record_of_a_domain_above(at: str) -> None:
    found = dmarc("v=DMARC1; p=reject", at=at, domain="eu.mail.acme.co.uk")
    assert (found.value, found.about) == ("good", "" if at.startswith("eu") else at)


def test_a_public_suffix_has_no_record_for_what_is_below() -> None:
    # A record there is the registry's, and would speak for all of its customers.
    assert dmarc("v=DMARC1; p=reject", at="co.uk", domain="acme.co.uk").code == "missing"


def dkim(*lines: str, keys: tuple[str, ...] = ()) -> CheckReport:
    text = "\n".join(
        f"{name}._domainkey.{DOMAIN}. TXT {txt(record)}"
        for name, _, record in (one.partition(" ") for one in lines)
    )
    return judged(Zones(GOOD, text), keys=keys)["dkim"]


RSA = f"v=DKIM1; k=rsa; p={RSA_1024}"
ED25519 = "v=DKIM1; k=ed25519; p=bF359sxO4/Zn12eY2n8pvw6KI/GzdVU8GQuN+lx+3YU="


def test_a_dkim_key_is_found_under_a_usual_selector() -> None:
    found = dkim(f"google {RSA}", f"s1 {ED25519}")
    assert (found.value, found.keys) == ("good", ("google", "s1"))
    assert found.records[0].startswith("google: v=DKIM1")


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (f"p={RSA_512}", "key-weak"),
        # RFC 6376: an empty key says that it was revoked.
        ("v=DKIM1; p=", "key-revoked"),
        ("v=DKIM1; p=%%%", "key-invalid"),
        ("v=DKIM1; p=AAAA", "key-invalid"),
        ("v=DKIM1; k=ed25519; p=AAAA", "key-invalid"),
        # RFC 8301: receivers accept neither SHA-1 nor RSA keys under 1,024 bits.
        (f"v=DKIM1; h=sha1; p={RSA_1024}", "key-weak"),
    ],
)
def test_a_dkim_key_that_receivers_reject_is_a_problem(record: str, code: Code) -> None:
    found = dkim(f"google {record}")
    assert (found.value, found.code, found.about) == ("problem", code, "google")


def test_a_key_of_an_unknown_algorithm_may_be_good() -> None:
    # RFC 6376: what isn't known is ignored, so that a newer algorithm isn't a mistake.
    assert dkim("google v=DKIM1; k=falcon; p=AAAA").value == "good"


def test_a_key_that_was_there_before_is_missed() -> None:
    found = dkim(f"s1 {RSA}", keys=("google", "s1"))
    assert (found.code, found.about, found.keys) == ("key-gone", "google", ("s1",))
    assert dkim(f"s1 {RSA}", "google p=", keys=("google", "s1")).code == "key-revoked"
    assert dkim(f"s1 {RSA}", "google p=", keys=("s1",)).code == "fine"


@pytest.mark.parametrize(
    ("check", "name", "kind"),
    [
        ("mx", DOMAIN, "MX"),
        ("spf", DOMAIN, "TXT"),
        ("dmarc", f"_dmarc.{DOMAIN}", "TXT"),
        ("dkim", f"google._domainkey.{DOMAIN}", "TXT"),
    ],
)
def test_a_failed_answer_makes_a_check_unknown(check: Check, name: str, kind: str) -> None:
    found = judged(Zones(GOOD), failing={(name, kind): "refused"}, keys=("google",))[check]
    assert (found.value, found.code) == ("unknown", "refused")


def test_a_record_that_is_too_long_to_be_shown_is_not_advised_in_part() -> None:
    networks = [f"ip4:192.0.{n}.0/24" for n in range(60)]
    found = spf(" ".join(["v=spf1", *networks[:30], "-all"]), " ".join(["v=spf1", *networks[30:], "-all"]))
    assert found.code == "several"
    # Published in part, it would cut off networks that send.
    assert found.publish == ""

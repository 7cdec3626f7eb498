"""Maps the columns of a file to fields of a lead: by title, or by --map. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

STANDARD = ("email", "first_name", "last_name", "company")
LEFT_OUT = "-"

# As people and their tools title them (CRM exports, mail merges, spreadsheets in many languages), spelled out
# here as `_key` makes them: small letters and digits only, accents gone.
_TITLES = {
    "email": """
        email emailaddress emailaddresses mail mailaddress workemail businessemail companyemail contactemail
        primaryemail personemail personalemail leademail useremail emailwork email1 email1value emailid
        emailadresse mailadresse epostadresse epost epostadress epostaadresi eposta epostasi
        correo correoelectronico correoe direcciondecorreo direcciondecorreoelectronico
        adresseemail adressemail adresseelectronique courriel courrielprofessionnel emailprofessionnel
        indirizzoemail indirizzomail postaelettronica indirizzodipostaelettronica
        emailadres zakelijkemailadres adresemail adresmailowy adresemailowy
        enderecodeemail enderecoeletronico correioeletronico sahkoposti sahkopostiosoite
        emailovaadresa emailcim adresadeemail почта электроннаяпочта электронныйадрес емейл
        адресэлектроннойпочты електроннапошта email地址 邮箱 电子邮件 电子邮箱 電子郵件 電子信箱 メール
        メールアドレス eメール 이메일 이메일주소 อีเมล البريدالالكتروني אימייל ईमेल
    """,
    "first_name": """
        firstname first givenname given forename fname contactfirstname leadfirstname personfirstname
        vorname rufname nombre nombres primernombre prenom prenoms nomedebatismo primeironome nomeproprio
        voornaam imie fornamn fornavn etunimi jmeno krestnijmeno keresztnev utonev prenume ad isim adi
        имя імя 名 名字 이름 ชื่อ الاسمالاول שםפרטי
    """,
    "last_name": """
        lastname last surname familyname family lname contactlastname leadlastname personlastname
        nachname familienname zuname apellido apellidos primerapellido nomdefamille cognome sobrenome apelido
        achternaam familienaam nazwisko efternamn etternavn efternavn sukunimi prijmeni vezeteknev csaladnev
        soyad soyadi фамилия прізвище 姓 姓氏 성 นามสกุล اسمالعائلة שםמשפחה
    """,
    "company": """
        company companyname organization organisation organizationname organisationname account accountname
        employer business businessname currentcompany leadcompany cleancompanyname companynameforemails
        firma firmenname unternehmen unternehmensname gesellschaft empresa nombredelaempresa compania
        entreprise societe nomdelasociete nomdelentreprise azienda nomeazienda societa ditta
        nomedaempresa companhia bedrijf bedrijfsnaam firmanaam nazwafirmy foretag foretagsnamn bolag
        virksomhed yritys spolecnost ceg cegnev companie sirket компания организация компанія
        公司 公司名称 公司名稱 企业 会社 会社名 企業 회사 회사명 บริษัท شركة الشركة חברה
    """,
}
# What the service keeps itself: an exported file that comes back must not write it into custom fields.
_THE_SERVICES_OWN = {"id", "leadid", "status", "leadstatus", "sequenceid", "createdat", "updatedat"}


class Unclear(Exception):
    """The columns cannot be told, or a `--map` names what is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A column and the field it fills; None: left out, because of `why`."""

    title: str
    field: str | None
    why: str = ""


def assign(
    header: Sequence[str], sample: Sequence[Sequence[str]], *, pairs: Iterable[str] = ()
) -> tuple[Assignment, ...]:
    """One assignment a column; raises `Unclear` where no column holds addresses."""
    by_hand = _by_hand(header, pairs)
    taken = {field for field in by_hand.values() if field != LEFT_OUT}
    assignments: list[Assignment] = []
    for place, title in enumerate(header):
        chosen = by_hand.get(place) or _guess(title, taken)
        assignments.append(_assignment(title, chosen, taken=taken, by_hand=place in by_hand))
    if "email" not in [a.field for a in assignments]:
        assignments = _by_content(assignments, sample)
    return tuple(assignments)


def _assignment(title: str, field: str, *, taken: set[str], by_hand: bool) -> Assignment:
    if field == LEFT_OUT:
        why = "left out by --map" if by_hand else "it has no title" if not title else "the service's own"
        return Assignment(title=title, field=None, why=why)
    if not by_hand:
        field = _free(field, taken)
        taken.add(field)
    return Assignment(title=title, field=field)


def _guess(title: str, taken: set[str]) -> str:
    key = _key(title)
    if not key or key in _THE_SERVICES_OWN:
        return LEFT_OUT
    known = next((field for field, titles in _KNOWN.items() if key in titles), None)
    return known if known and known not in taken else title


def _free(field: str, taken: set[str]) -> str:
    """The name itself, or with a number where another column has it already."""
    name, count = field, 1
    while name in taken:
        count += 1
        name = f"{field} {count}"
    return name


def _by_content(assignments: Sequence[Assignment], sample: Sequence[Sequence[str]]) -> list[Assignment]:
    """No title says so: the column whose cells look like addresses."""
    counts = [
        sum("@" in row[place] for row in sample if place < len(row)) for place in range(len(assignments))
    ]
    best = max(range(len(counts)), key=counts.__getitem__, default=0)
    if not counts or not counts[best] or counts[best] * 2 < len(sample):
        titles = ", ".join(f"“{a.title}”" for a in assignments)
        raise Unclear(
            f"no column contains email addresses; the file has {titles}. Choose one with --map COLUMN=email"
        )
    found = Assignment(title=assignments[best].title, field="email", why="by its content")
    return [found if place == best else a for place, a in enumerate(assignments)]


def _by_hand(header: Sequence[str], pairs: Iterable[str]) -> dict[int, str]:
    chosen: dict[int, str] = {}
    for pair in pairs:
        column, mark, field = pair.rpartition("=")
        if not mark or not column.strip() or not field.strip():
            raise Unclear(f"--map takes COLUMN=FIELD, which “{pair}” isn't")
        chosen[_place(header, column.strip())] = field.strip()
    fields = [field for field in chosen.values() if field != LEFT_OUT]
    if twice := next((field for field in fields if fields.count(field) > 1), None):
        raise Unclear(f"--map fills “{twice}” from two columns")
    return chosen


def _place(header: Sequence[str], column: str) -> int:
    """Find a column by its title, case and accents ignored, or by its number from 1."""
    keys = [_key(title) for title in header]
    if _key(column) in keys:
        return keys.index(_key(column))
    if column.isdecimal() and 1 <= int(column) <= len(header):
        return int(column) - 1
    raise Unclear(f"unknown column “{column}”; the file has {', '.join(f'“{t}”' for t in header)}")


def _key(title: str) -> str:
    bare = unicodedata.normalize("NFKD", title.casefold())
    return "".join(c for c in bare if c.isalnum())


_KNOWN = {field: {_key(title) for title in titles.split()} for field, titles in _TITLES.items()}

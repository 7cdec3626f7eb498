"""Files of every make are read for what they are; what cannot be sent is refused with its reason."""

from __future__ import annotations

import csv
import io
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli.bulk.columns import Unclear, assign
from cli.bulk.csv_format import Survey, Unusable, survey
from cli.bulk.row_reader import Batch, Reader, address_fault

TEXT = 'Vorname;Nachname;E-Mail;Firma\r\nZoë;"Müller; Söhne";zoe@acme.example;Café GmbH\r\n'


def written(folder: Path, content: bytes | str, encoding: str = "utf-8") -> Path:
    path = folder / "leads.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def read(path: Path, *, pairs: Sequence[str] = (), encoding: str | None = None) -> list[Batch]:
    found = survey(path, encoding=encoding)
    return list(Reader(found, assign(found.header, found.sample, pairs=pairs)).batches())


def leads(path: Path, **options: object) -> list[dict[str, str]]:
    return [candidate.lead for batch in read(path, **options) for candidate in batch.leads]  # type: ignore[arg-type] # handed on


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings_are_detected(tmp_path: Path, encoding: str) -> None:
    assert leads(written(tmp_path, TEXT, encoding)) == [
        {
            "first_name": "Zoë",
            "last_name": "Müller; Söhne",
            "email": "zoe@acme.example",
            "company": "Café GmbH",
        }
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected_even_with_others_in_cells(tmp_path: Path, delimiter: str) -> None:
    text = io.StringIO(newline="")
    rows = [["email", "company", "note"], *([f"p{i}@a.example", "A, B; C", "x|y\tz"] for i in range(20))]
    csv.writer(text, delimiter=delimiter).writerows(rows)
    found = survey(written(tmp_path, text.getvalue()))
    assert (found.delimiter, found.header) == (delimiter, ("email", "company", "note"))


def test_a_first_line_of_a_spreadsheet_that_names_the_delimiter_is_obeyed(tmp_path: Path) -> None:
    assert leads(written(tmp_path, "sep=|\nemail|company\na@b.example|C, D\n")) == [
        {"email": "a@b.example", "company": "C, D"}
    ]


def test_single_quotes_are_quotes_where_every_title_stands_in_them(tmp_path: Path) -> None:
    assert leads(written(tmp_path, "'email','company'\n'a@b.example','C, D'\n")) == [
        {"email": "a@b.example", "company": "C, D"}
    ]


def test_a_file_without_titles_is_read_by_its_content(tmp_path: Path) -> None:
    assert leads(written(tmp_path, "Ann,ann@b.example\nBob,bob@b.example\n"), pairs=["1=first_name"]) == [
        {"first_name": "Ann", "email": "ann@b.example"},
        {"first_name": "Bob", "email": "bob@b.example"},
    ]


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("cp1252", "José Muñoz,Begoña Núñez,Íñigo Peña"),
        ("cp1252", "Søren Kjærgaard,Þórður Jónsson,François Lefèvre"),
        ("mac_roman", "Zoë Müller,José Muñoz,François Lefèvre"),
        ("cp1250", "Łukasz Wójcik,Grażyna Święta,Józef Dąbrowski,Spółka Żółw"),
        ("cp1251", "Иван Петров,Ольга Смирнова,Рога и копыта"),
        ("cp1253", "Γιώργος Παπαδόπουλος,Εταιρεία Αθηνών"),
        ("shift_jis", "山田太郎,鈴木一郎,株式会社日立製作所"),
        ("gb18030", "王小明,李娜,北京科技有限公司"),
        ("big5", "陳美玲,台灣積體電路,台北科技公司"),
        ("euc_kr", "김철수,이영희,현대자동차"),
    ],
)
def test_old_encodings_are_recognized_by_their_text(tmp_path: Path, encoding: str, names: str) -> None:
    people = names.split(",") * 10
    rows = "".join(f"p{number}@a.example,{name}\n" for number, name in enumerate(people))
    ascii_rows = "".join(f"q{number}@a.example,Ann\n" for number in range(5_000))
    path = written(tmp_path, f"email,first_name\n{ascii_rows}{rows}", encoding)
    assert [lead["first_name"] for lead in leads(path)[5_000:]] == people


def test_a_file_that_ends_inside_a_character_loses_only_its_last_row(tmp_path: Path) -> None:
    path = written(tmp_path, "email,first_name\na@b.example,Zoë\nc@d.example,Zo".encode() + b"\xc3")
    (batch,) = read(path)
    assert [c.email for c in batch.leads] == ["a@b.example"]
    assert [r.reason for r in batch.refusals] == ["has bytes that aren't utf-8"]


def test_one_damaged_byte_does_not_make_a_utf8_file_another(tmp_path: Path) -> None:
    good = "email,first_name\n" + "".join(f"p{i}@a.example,Zoë\n" for i in range(50))
    path = written(tmp_path, good.encode() + b"bad@a.example,Zo\xeb\n")
    (batch,) = read(path)
    assert len(batch.leads) == 50
    assert [(r.row, r.reason) for r in batch.refusals] == [(52, "has bytes that aren't utf-8")]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"", "empty"), (b"\n\n\n", "no rows"), (b"\xff\xfea\x00b", "utf-16|no column")],
)
def test_files_other_than_csv_are_reported(tmp_path: Path, content: bytes, complaint: str) -> None:
    with pytest.raises((Unusable, Unclear), match=complaint):
        read(written(tmp_path, content))


def test_an_encoding_can_be_set_and_a_wrong_one_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, "メールアドレス,会社名\na@b.example,株式会社\n", "shift_jis")
    assert leads(path, encoding="shift_jis") == [{"email": "a@b.example", "company": "株式会社"}]
    with pytest.raises(Unusable, match="unknown encoding nonsense"):
        survey(path, encoding="nonsense")


def test_an_unclosed_quote_is_reported_with_its_row(tmp_path: Path) -> None:
    path = written(tmp_path, 'email,note\na@b.example,"open\n' + "x@y.example,z\n" * 20_000)
    with pytest.raises(Unusable, match=r"row 2.*closing quote"):
        read(path)


def test_rows_that_cannot_be_sent_are_refused_with_reasons(tmp_path: Path) -> None:
    rows = [
        "email,company",
        "a@b.example,A",
        ",B",
        "nope,C",
        "x@localhost,D",
        "a@b.example,E,F",
        "",
        " , ",
        "mailto:m@n.example,G",
    ]
    (batch,) = read(written(tmp_path, "\n".join(rows)))
    assert [c.email for c in batch.leads] == ["a@b.example", "m@n.example"]
    assert [(r.row, r.reason.split(".")[0]) for r in batch.refusals] == [
        (3, "no email address"),
        (4, "not an email address"),
        (5, "not an email domain"),
        (6, "has 3 cells where the header has 2"),
        (8, "no email address"),
    ]


def test_custom_fields_go_along_empty_ones_do_not_and_the_services_own_are_left_out(tmp_path: Path) -> None:
    text = "Email,Job Title,Notes,id,status,\na@b.example,CTO,,ld_1,active,x\n"
    assert leads(written(tmp_path, text)) == [{"email": "a@b.example", "Job Title": "CTO"}]


@pytest.mark.parametrize(
    "title",
    ["E-Mail", "email address", "EMAIL_ADDRESS", "Correo electrónico", "Adresse e-mail", "Courriel", "E-postadress",
     "Адрес электронной почты", "メールアドレス", "邮箱", "Work Email", "E-mailová adresa", "Sähköposti"],
)  # fmt: skip
def test_the_address_is_found_under_its_many_names(title: str) -> None:
    assert assign([title, "x"], [])[0].field == "email"


def test_a_second_column_of_a_kind_becomes_a_custom_field() -> None:
    assert [a.field for a in assign(["Email", "Personal Email", "Note", "note", "Note"], [])] == [
        "email",
        "Personal Email",
        "Note",
        "note",
        "Note 2",
    ]


def test_the_map_overrules_the_guess_by_title_and_by_number() -> None:
    found = assign(["mail", "Firma", "x"], [], pairs=["FIRMA=account", "3=company", "mail=email"])
    assert [a.field for a in found] == ["email", "account", "company"]


@pytest.mark.parametrize("pairs", [["nope=email"], ["email"], ["=x"], ["a=email", "b=email"], ["a=-"]])
def test_a_map_that_makes_no_sense_is_refused(pairs: list[str]) -> None:
    with pytest.raises(Unclear):
        assign(["a", "b"], [], pairs=pairs)


@pytest.mark.parametrize(
    "address", ["a@b.co", "first.last+tag@sub.example.com", "o'neil@x-y.example", "zoë@bücher.example"]
)
def test_real_addresses_pass(address: str) -> None:
    assert address_fault(address) is None


@pytest.mark.parametrize("address", ["", "a", "a@", "@b.co", "a b@c.co", "a@b", "a@-b.co", "a..b@c.co", "a@b..co", "a@b.1", "a@" + "b" * 300 + ".co", "a,b@c.co", "a\n@b.co"])  # fmt: skip
def test_invalid_addresses_are_refused(address: str) -> None:
    assert address_fault(address)


def test_batches_continue_after_any_row_without_loss_or_repeats(tmp_path: Path) -> None:
    path = written(tmp_path, "email\n" + "".join(f"p{i}@a.example\n" for i in range(25)))
    found = survey(path)
    reader = Reader(found, assign(found.header, found.sample))
    everything = [c.row for b in reader.batches(size=10) for c in b.leads]
    assert everything == list(range(2, 27))
    for after in (0, 1, 2, 11, 26, 40):
        rest = [c.row for b in reader.batches(after=after, size=10) for c in b.leads]
        assert rest == [row for row in everything if row > after]


def test_a_large_file_is_read_in_constant_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("w") as file:
        file.write("email,company,title\n")
        file.writelines(f"p{i}@firm{i % 999}.example,Firm {i % 999},CTO\n" for i in range(40_000))
    tracemalloc.start()
    found: Survey = survey(path)
    count = sum(len(b.leads) for b in Reader(found, assign(found.header, found.sample)).batches())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 40_000
    assert peak < 6_000_000

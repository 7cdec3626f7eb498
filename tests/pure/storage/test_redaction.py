"""An address is taken out of any text, and nothing else is."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from shared.storage.redaction import LONGEST_BYTES, REMOVED, Redaction

ADA = "ada@acme.example"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"write to {ADA}.", f"write to {REMOVED}."),
        (f"<{ADA.upper()}>", f"<{REMOVED}>"),
        # JSON writes a line's end as letters in front of the address, which don't belong to it.
        (f'{{"reply": "Hi,\\n{ADA}\\n"}}', f'{{"reply": "Hi,\\n{REMOVED}\\n"}}'),
        (f'{{"reply": "\\u000a{ADA}"}}', f'{{"reply": "\\u000a{REMOVED}"}}'),
        # Other people's addresses, which merely contain this one.
        (f"l{ADA}", f"l{ADA}"),
        (f"x.{ADA}", f"x.{ADA}"),
        (f"{ADA}.org", f"{ADA}.org"),
        ("ada at acme.example", "ada at acme.example"),
    ],
)
def test_the_address_alone_is_removed(text: str, left: str) -> None:
    assert Redaction(ADA).text(text) == left
    assert Redaction(ADA).bytes(text.encode()) == left.encode()
    assert zlib.decompress(Redaction(ADA).bytes(zlib.compress(text.encode()))) == left.encode()


def test_an_address_beyond_ascii_is_found_as_json_writes_it() -> None:
    assert Redaction("zoë@acme.example").text('"zo\\u00eb@acme.example"') == f'"{REMOVED}"'


def test_a_file_is_searched_across_the_borders_of_its_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, redaction = tmp_path / "backup", Redaction(ADA)
    # A backup may be larger than the memory and is read in pieces: an address may stand in two of them.
    piece = 2 * LONGEST_BYTES
    monkeypatch.setattr("shared.storage.redaction.PIECE_BYTES", piece)
    for before in (0, piece - 5, piece, 3 * piece):
        file.write_bytes(b" " * before + ADA.encode() + b" \xff")
        assert redaction.is_in(file), before
        file.write_bytes(b" " * before + b"l" + ADA.encode())
        assert not redaction.is_in(file), before

"""What a picture writes where the library's own font has no letters: another font, fewer accents, or other words."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFont

from bot.blockkit import charts, fonts
from bot.blockkit.fonts import Letters, covers, plainly, without_accents
from shared.domain.card import Chart

BARE = Letters(())
"""A machine without any font."""
HAN = "一丁"


def with_han_letters(data: bytes) -> bytes:
    """The font with its last two shapes under the numbers of `HAN` (OpenType, cmap format 4)."""
    font = bytearray(data)
    count = struct.unpack_from(">H", font, 4)[0]
    tables = (struct.unpack_from(">4sLLL", font, 12 + 16 * n) for n in range(count))
    cmap = next(at for tag, _, at, _ in tables if tag == b"cmap")
    first = struct.unpack_from(">L", font, cmap + 8)[0]
    at, segments = cmap + first, struct.unpack_from(">H", font, cmap + first + 6)[0] // 2
    last = at + 14 + 2 * (segments - 2)  # the very last segment is the end mark
    start, delta = last + 2 * segments + 2, last + 4 * segments + 2
    shift = struct.unpack_from(">H", font, start)[0] - ord(HAN[0])
    struct.pack_into(">H", font, last, ord(HAN[1]))
    struct.pack_into(">H", font, start, ord(HAN[0]))
    struct.pack_into(">H", font, delta, (struct.unpack_from(">H", font, delta)[0] + shift) % 65536)
    return bytes(font)


@pytest.fixture
def han(tmp_path: Path) -> Letters:
    """A machine with one font, deep in its folders, beside files that are none."""
    own = ImageFont.load_default(24)
    assert isinstance(own, ImageFont.FreeTypeFont)
    assert isinstance(own.path, io.BytesIO)
    folder = tmp_path / "truetype" / "han"
    folder.mkdir(parents=True)
    (folder / "Han-Regular.TTF").write_bytes(with_han_letters(own.path.getvalue()))
    (folder / "Broken-Bold.ttf").write_bytes(b"no font")
    (folder / "readme.txt").write_text("no font either")
    return Letters([str(tmp_path), str(tmp_path / "not there")])


def said(letters: Letters, text: str) -> str | None:
    drawn = letters.draws(text, font=letters.choose([text]))
    return drawn[0] if drawn else None


def test_a_font_of_the_machine_is_taken_where_the_own_one_lacks_letters(han: Letters) -> None:
    drawn = han.draws(HAN, font=han.choose(["plain"]))
    assert drawn is not None
    text, font = drawn
    assert (text, str(font.path).endswith("Han-Regular.TTF")) == (HAN, True)
    assert covers(font, HAN)
    assert not covers(font, "三")


def test_the_font_that_does_for_most_is_taken_for_all_so_that_they_look_alike(han: Letters) -> None:
    assert han.choose(["plain", HAN]) is not han.choose(["plain"])
    assert han.choose(["plain", "三"]) is han.choose(["plain"])


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        pytest.param("Webinar", "Webinar", id="English"),
        pytest.param("SaaS-Gründer – Zürich", "SaaS-Grunder - Zurich", id="accents"),
        pytest.param("🚀 Launch 🎉", "Launch", id="little pictures"),
        pytest.param("🔥🔥", None, id="nothing but pictures"),
        pytest.param("東京", None, id="no such letters"),
        pytest.param("שלום", None, id="from the right"),
        pytest.param("a\u202eb\x1b[31mc", "abc", id="direction and escapes"),
        pytest.param("x" * 3_000, "x" * fonts.LONGEST, id="three thousand letters"),
    ],
)
def test_without_fonts_accents_and_pictures_are_left_out_and_what_remains_is_no_boxes(
    name: str, drawn: str | None
) -> None:
    assert said(BARE, name) == drawn


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_whatever_is_drawn_has_a_shape_for_every_letter(name: str) -> None:
    font = BARE.choose([name])
    drawn = BARE.draws(name, font=font)
    assert drawn is None or (drawn[0] and covers(drawn[1], drawn[0]))
    assert without_accents(plainly(name)) == without_accents(without_accents(plainly(name)))


def rows(picture: bytes) -> list[bytes]:
    """The column of names, row by row."""
    image = Image.open(io.BytesIO(picture)).convert("L")
    scale = charts.SCALE
    edges = [charts.TOP + n * charts.BAR_ROW for n in range(4)]
    return [
        image.crop((0, top * scale, charts.NAMES * scale, (top + charts.BAR_ROW) * scale)).tobytes()
        for top in edges
    ]


def bars(labels: Sequence[str], *, spare: Sequence[str] = ()) -> Chart:
    values = tuple(float(n) for n in range(len(labels)))
    return Chart(
        title="t", labels=tuple(labels), fallback_labels=tuple(spare), series=(("R", values),), bars=True
    )


def test_a_group_that_cannot_be_written_is_called_by_its_other_words() -> None:
    names, spare = ("One", "東京", "🔥", "Four"), ("a", "Row 2", "Row 3", "d")
    drawn = rows(charts.picture(bars(names, spare=spare), letters=BARE))
    assert drawn == rows(charts.picture(bars(("One", "Row 2", "Row 3", "Four")), letters=BARE))
    assert len(set(drawn)) == 4


def test_the_words_for_a_screen_reader_name_every_group_as_it_is_called() -> None:
    assert charts.alt_text(bars(("One", "東京"))) == "t. One r 0; 東京 r 1"

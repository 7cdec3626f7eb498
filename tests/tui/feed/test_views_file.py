"""The file of views: what people write into it, what the dashboard writes, and what neither may break."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.feed.views_file import MOST_BYTES, ViewsFile
from tui.model.lists import layout
from tui.model.lists.views import View, ViewsBroken, columns_of, name_problem, read_views

PROBLEMS = View(panel="inboxes", columns=("inbox", "health"), filter="acme", problems=True, sort="health")
WRITTEN = """\
# mine
[acme.problems]   # at the top of the day
panel = "inboxes"
columns = ["inbox", "Health"]   # any case
filter = "acme"
problems = true
sort = "health"

[beta."Q3 only"]
panel = "sequences"
filter = "Q3"
"""


def views() -> st.SearchStrategy[View]:
    def of(panel: str) -> st.SearchStrategy[View]:
        ids = st.sampled_from([column.id for column in columns_of(panel)])
        return st.builds(
            View,
            panel=st.just(panel),
            columns=st.lists(ids, unique=True, max_size=5).map(tuple),
            filter=st.text(max_size=20),
            problems=st.booleans(),
            sort=st.just("") | ids,
            descending=st.booleans(),
        )

    return st.sampled_from(layout.PANELS).flatmap(of)


def test_what_people_write_is_read_in_any_case(tmp_path: Path) -> None:
    (tmp_path / "views.toml").write_text(WRITTEN)
    found, problems = ViewsFile(tmp_path / "views.toml").read()
    assert problems == []
    assert found["acme"]["problems"] == PROBLEMS
    assert found["beta"]["Q3 only"] == View(panel="sequences", filter="Q3")


def test_columns_are_written_by_id_and_files_that_name_titles_are_still_read(tmp_path: Path) -> None:
    path = tmp_path / "views.toml"
    path.write_text(
        '[acme.old]\npanel = "stats"\ncolumns = ["Variant", "Reply rate", "sent"]\nsort = "Reply rate"\n'
    )
    (found, problems) = ViewsFile(path).read()
    assert problems == []
    view = found["acme"]["old"]
    assert view == View(panel="stats", columns=("group", "reply-rate", "sent"), sort="reply-rate")
    assert view.words == "stats, by Reply rate, columns group, Reply rate, Sent"
    ViewsFile(path).save("acme", "old", view)
    assert tomllib.loads(path.read_text())["acme"]["old"]["columns"] == ["group", "reply-rate", "sent"]


@pytest.mark.parametrize("panel", layout.PANELS)
def test_no_title_of_a_column_is_another_ones_id(panel: str) -> None:
    columns = columns_of(panel)
    assert {(one.id, other.id) for one in columns for other in columns
            if one.title.casefold() == other.id and one.id != other.id} == set()  # fmt: skip


def test_a_missing_file_has_no_views_and_is_made_with_the_first(tmp_path: Path) -> None:
    file = ViewsFile(tmp_path / "new" / "views.toml")
    assert file.read() == ({}, [])
    file.save("acme", "problems", PROBLEMS)
    assert file.read() == ({"acme": {"problems": PROBLEMS}}, [])
    assert file.path.read_text().startswith("# Views of the dashboard")


def test_a_change_keeps_comments_other_views_and_the_files_permissions(tmp_path: Path) -> None:
    path = tmp_path / "views.toml"
    path.write_text(WRITTEN)
    path.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    file = ViewsFile(link)
    file.save("acme", "problems", View(panel="domains"))
    file.save("acme", "more", PROBLEMS)
    file.save("beta", "Q3 only", None)
    text = path.read_text()
    assert "# mine" in text
    assert "# at the top of the day" in text
    assert file.read()[0] == {"acme": {"problems": View(panel="domains"), "more": PROBLEMS}}
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.toml", "views.toml"]


@given(
    saved=st.dictionaries(st.text(min_size=1, max_size=40), views(), max_size=4),
    workspace=st.text(max_size=12),
)
def test_what_is_saved_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, saved: dict[str, View], workspace: str
) -> None:
    file = ViewsFile(tmp_path_factory.mktemp("views") / "views.toml")
    kept = {name: view for name, view in saved.items() if not name_problem(name)}
    for name, view in kept.items():
        file.save(workspace, name, view)
    found, problems = file.read()
    assert problems == []
    assert dict(found.get(workspace, {})) == kept


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[acme.a]\npanel = \n", "line 2: "),
        ("[acme.a]\n[acme.a]\n", "line 2: "),
        ("x = " + "[" * 5000, "it can't be read"),
        ("x = 2026-13-45\n", "line 1: "),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_never_written_over(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "views.toml"
    path.write_text(text)
    for use in (ViewsFile(path).read, lambda: ViewsFile(path).save("acme", "b", PROBLEMS)):
        with pytest.raises(ViewsBroken, match=problem):
            use()
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[acme.a]\npanel = "boxes"\n', "line 2: view “a”: panel is one of inboxes"),
        ('[acme.a]\nfilter = "x"\n', "line 1: view “a”: panel is one of inboxes"),
        (
            '[acme.a]\npanel = "inboxes"\ncolumns = ["Helth"]\n',
            "line 3: view “a”: inboxes has no column “Helth”; did you mean Health?",
        ),
        (
            '[acme.a]\npanel = "inboxes"\ncolums = []\n',
            "line 3: view “a”: “colums” isn't a key; did you mean columns?",
        ),
        (
            '[acme.a]\npanel = "inboxes"\nproblems = "yes"\n',
            "line 3: view “a”: problems must be true or false.",
        ),
        (
            '[acme.a]\npanel = "inboxes"\ncolumns = "Inbox"\n',
            "line 3: view “a”: columns must be a list of columns.",
        ),
        ("\nacme = 3\n", "line 2: “acme” isn't a table of views."),
        ("[acme]\na = 3\n", "line 2: view “a”: it isn't a table."),
        ('[acme.save]\npanel = "inboxes"\n', "line 1: A view can't be named “save”."),
        (
            '[acme."\\u202ea"]\npanel = "inboxes"\n',
            "line 1: The name of a view has 1 to 40 visible characters.",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_line_and_spoils_no_other_view(text: str, problem: str) -> None:
    found, problems = read_views(
        text + '\n[acme.good]\npanel = "domains"\n' if "acme = 3" not in text else text
    )
    assert len(problems) == 1
    assert problems[0].startswith(problem)
    assert "acme = 3" in text or found["acme"]["good"] == View(panel="domains")


def test_bytes_that_are_no_text_and_a_huge_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "views.toml"
    path.write_bytes(b'[acme.a]\npanel = "\xff"\n')
    with pytest.raises(ViewsBroken, match="line 2: it isn't UTF-8"):
        ViewsFile(path).read()
    path.write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(ViewsBroken, match="256 KiB"):
        ViewsFile(path).read()
    path.unlink()
    path.mkdir()
    with pytest.raises(ViewsBroken, match="can't be read"):
        ViewsFile(path).read()


def test_a_folder_that_takes_no_file_loses_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(ViewsBroken, match="can't be"):
        ViewsFile(blocked / "views.toml").save("acme", "a", PROBLEMS)
    assert blocked.read_text() == "not a folder"


def test_a_table_in_one_line_is_changed_too(tmp_path: Path) -> None:
    path = tmp_path / "views.toml"
    path.write_text('acme = { a = { panel = "inboxes" } }\n')
    ViewsFile(path).save("acme", "b", PROBLEMS)
    assert tomllib.loads(path.read_text())["acme"].keys() == {"a", "b"}


def test_what_is_no_table_of_views_is_left_to_people(tmp_path: Path) -> None:
    path = tmp_path / "views.toml"
    path.write_text("acme = 3\n")
    with pytest.raises(ViewsBroken, match="by hand"):
        ViewsFile(path).save("acme", "b", PROBLEMS)
    assert path.read_text() == "acme = 3\n"

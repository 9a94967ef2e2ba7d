"""A folder as a tree with arrows: what is said beside them is where the system itself says that a path leads."""

import os
import re
import sys

import pytest

from s02_tool_use import workdir
from s02_tool_use.lab import escape_room, show_tree

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need the developer mode of Windows")


@pytest.fixture
def room():
    return escape_room(show=False)


@needs_links
def test_the_room_of_04_with_its_links_and_four_ways(room):
    drawn = show_tree(room, workdir(), ["notes.txt", "../work-evil/loot.txt", "link.txt", "door/secret.txt"])
    assert repr(drawn).split("\n") == [
        "the room/ ◄───────────────────────────────────────────────┐",
        "├─ secret.txt ◄───────────────────────────────────────────┼─┬─┬─┐",
        "├─ work/  the workspace                                   │ │ │ │",
        "│  ├─ door -> .. ─────────────────────────────────────────┘ │ │ │",
        "│  ├─ link.txt -> ../secret.txt ────────────────────────────┘ │ │",
        "│  ├─ loop -> loop                                            │ │",
        "│  ├─ notes.txt ◄───────────────────────────────────────────┐ │ │",
        "│  └─ sub/                                                  │ │ │",
        "│     └─ secret.txt                                         │ │ │",
        "└─ work-evil/                                               │ │ │",
        "   └─ loot.txt ◄──────────────────────────────────────────┐ │ │ │",
        "Paths, as seen from work:                                 │ │ │ │",
        "  notes.txt              [inside]   work/notes.txt     ───┼─┘ │ │",
        "  ../work-evil/loot.txt  [outside]  work-evil/loot.txt ───┘   │ │",
        "  link.txt               [outside]  secret.txt         ───────┘ │",
        "  door/secret.txt        [outside]  secret.txt         ─────────┘",
    ]


def verdicts(drawn):
    """path -> (verdict, place in words) of each path in question."""
    lines = re.findall(r"(?m)^  (\S.*?) +\[(\w+)\] +(.*?)(?: [─│┼┘┐┬┴┤◄ ]+)?$", repr(drawn))
    return {path: (verdict, place) for path, verdict, place in lines}


@needs_links
@pytest.mark.parametrize(
    ("path", "verdict", "place"),
    [
        ("sub/new.txt", "inside", "work/sub/new.txt, not there yet"),
        (".", "inside", "work"),
        ("door", "outside", "the room"),
        ("door/work/notes.txt", "inside", "work/notes.txt"),
        ("door/../x", "outside", "outside of the room too"),
        ("loop/../link.txt", "nowhere", "a circle of links"),
        ("a\0b", "nowhere", "no place"),
        ("~/secret.txt", "inside", "work/~/secret.txt, not there yet"),
        ("../work", "inside", "work"),
    ],
)
def test_each_path_has_its_place_in_words(room, path, verdict, place):
    ((_, said),) = verdicts(show_tree(room, workdir(), [path])).items()
    assert said == (verdict, place)


@needs_links
def test_nothing_of_this_machine_is_shown(room):
    if sys.platform != "win32":
        os.symlink(room / "secret.txt", workdir() / "absolute")
    drawn = show_tree(room, workdir(), [str(room / "secret.txt"), str(room.parent), "absolute"])
    assert str(room) not in repr(drawn) + drawn.html
    assert room.name not in repr(drawn) + drawn.html
    assert "the room/secret.txt  [outside]  secret.txt" in repr(drawn)


@needs_links
def test_every_arrow_goes_from_its_row_to_the_row_of_its_place(room):
    """Along each line of the picture, from its row to its corner, and up to the row that it comes to."""
    paths = ["notes.txt", "../work-evil/loot.txt", "link.txt", "door/secret.txt", "sub/x", "door", "sub/secret.txt"]
    drawn = show_tree(room, workdir(), paths)
    lines = repr(drawn).split("\n")
    led = []
    for row, line in enumerate(lines):
        corner = re.search(r"─[─┼]*┘", line)
        if corner and "◄" not in line:
            end = row
            while lines[end][corner.end() - 1] not in "┐┬":
                end -= 1
            source = re.search(r"(\S+)  +\[|(\w\S*) ->", line)
            led.append((source[1] or source[2], lines[end].split(" ◄")[0].strip("│├└─ ")))
    assert led == [
        ("door", "the room/"),
        ("link.txt", "secret.txt"),
        ("notes.txt", "notes.txt"),
        ("../work-evil/loot.txt", "loot.txt"),
        ("link.txt", "secret.txt"),
        ("door/secret.txt", "secret.txt"),
        ("sub/x", "sub/"),
        ("door", "the room/"),
        ("sub/secret.txt", "secret.txt"),
    ]
    assert verdicts(drawn)["sub/secret.txt"] == ("inside", "work/sub/secret.txt")


def test_without_paths_and_workspace_it_is_a_tree(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.txt").write_text("")
    (tmp_path / "a.txt").write_text("")
    assert repr(show_tree(tmp_path, name="shop")) == "shop/  the workspace\n├─ a.txt\n└─ b/\n   └─ c.txt"


def test_a_large_folder_and_many_paths_stay_small(tmp_path):
    for number in range(500):
        (tmp_path / f"{number:03}{'x' * 100}.txt").write_text("")
    drawn = show_tree(tmp_path, paths=[f"{number:03}{'x' * 100}.txt" for number in range(40)])
    assert "... 440 more names" in repr(drawn)
    assert max(map(len, repr(drawn).split("\n"))) < 170
    assert repr(drawn).count("[inside]") == 40


@needs_links
def test_hostile_names_stay_text(tmp_path):
    (tmp_path / "<b>&\n\u202e.txt").write_text("")
    os.symlink("<script>", tmp_path / "link")
    drawn = show_tree(tmp_path, paths=["<script>"])
    assert "<script>" not in drawn.html
    assert "\u202e" not in repr(drawn) + drawn.html
    assert len(repr(drawn).split("\n")) == 5


@pytest.mark.parametrize("workspace", ["../elsewhere", "missing", "a.txt"])
def test_a_workspace_that_is_no_folder_in_it_is_told(tmp_path, workspace):
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(ValueError, match="a workspace that is a folder in it"):
        show_tree(tmp_path, tmp_path / workspace)
    with pytest.raises(ValueError, match="takes a folder"):
        show_tree(tmp_path / "a.txt")


def test_the_arrows_are_for_the_eyes_and_the_verdict_is_a_word(room):
    drawn = show_tree(room, workdir(), ["../secret.txt"])
    spoken = re.sub(r'<span aria-hidden="true">[^<]*</span>', "", drawn.html)
    assert not set("◄┘┐") & set(spoken)
    assert ">[outside]</b>" in spoken


def test_one_path_may_stand_alone(room):
    alone, listed = (show_tree(room, workdir(), paths) for paths in ("notes.txt", ["notes.txt"]))
    assert repr(alone) == repr(listed)

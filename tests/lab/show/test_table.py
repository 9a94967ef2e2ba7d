"""Tables: text in columns, HTML that stays text, pages as cells."""

import html
import re

import pytest

from s02_tool_use.lab import show_table
from s02_tool_use.lab.show.page import Page


def test_texts_stand_at_the_left_and_numbers_at_the_right():
    table = show_table(["name", "number"], [["a", 1], ["long name", 1000]])
    assert repr(table).split("\n") == [
        "name       number",
        "---------  ------",
        "a               1",
        "long name    1000",
    ]


def test_a_table_without_rows_has_its_head():
    assert repr(show_table(["a"], [])) == "a\n-"


def test_html_in_a_cell_stays_text():
    assert "<script>" not in show_table(["<b>"], [["<script>"]]).html


def test_a_page_as_a_cell_keeps_its_drawing():
    assert "<i>x</i>" in show_table(["a"], [[Page("x", "<i>x</i>")]]).html


def test_a_cell_of_several_lines_is_one_line_of_text():
    assert repr(show_table(["a"], [["x\ny"]])).split("\n")[2] == "x, y"


def test_a_row_that_does_not_fit_is_told():
    with pytest.raises(ValueError, match="has 2 columns, and a row has 1 values"):
        show_table(["a", "b"], [["x"]])


def test_true_false_and_none_are_words():
    assert repr(show_table(["a", "b"], [[True, None]])).split("\n")[2] == "True"


def test_a_long_name_may_break_and_is_the_same_text():
    name = "every_call_answered_right_after_it_"
    drawn = show_table(["pass", "x" * 60], [[name, "a<b&c" * 12], ["short_name", "&"]])
    assert "every_<wbr>call_<wbr>answered_" in drawn.html
    assert "short_name</span>" in drawn.html
    assert max(map(len, re.split(r"<wbr>|<[^>]*>", drawn.html))) < 24 * len("&amp;")
    text = html.unescape(re.sub("<[^>]*>", "", drawn.html))
    assert name in text
    assert "a<b&c" * 12 in text
    assert name in repr(drawn)

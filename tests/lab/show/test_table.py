"""Tables: text in columns, HTML that stays text, pages as cells."""

import html
import math
import re
from decimal import Decimal

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


def bars_of(values, **options):
    """The bar of each of these values, as the twin has it."""
    lines = repr(show_table(["n"], [[value] for value in values], bars="n", **options)).split("\n")[2:]
    return [re.sub(r"[^▏▎▍▌▋▊▉█]", "", line) for line in lines]


def test_a_column_of_numbers_is_drawn_as_bars_beside_its_numbers():
    table = show_table(["request", "tokens in", "out"], [[1, 800, 15], [2, 1600, 20], [3, 1250, 0]], bars="tokens in")
    assert repr(table).split("\n") == [
        "request  tokens in                    out",
        "-------  ---------  ----------------  ---",
        "      1        800  ████████           15",
        "      2       1600  ████████████████   20",
        "      3       1250  ████████████▌       0",
    ]


def test_a_bar_is_characters_without_styles_too_and_nothing_to_a_screen_reader():
    drawn = show_table(["n", "of"], [[1, 4]], bars=["n", "of"]).html
    assert re.findall(r'<code aria-hidden="true"[^>]*>(█+)</code>', drawn) == ["████", "█" * 16]
    first, *rows = re.findall("<tr>(.*?)</tr>", drawn)
    assert first.count('<th colspan="2"') == 2 == rows[0].count("<td") / 2


def test_several_columns_with_bars_have_one_scale():
    lines = repr(show_table(["in", "out"], [[1000, 500]], bars=["in", "out"])).split("\n")
    assert re.findall("█+", lines[2]) == ["█" * 16, "█" * 8]


def test_what_is_no_number_or_below_zero_has_no_bar_and_the_others_have_theirs():
    assert bars_of([2, 0, -2, None, "2", True, math.nan, math.inf, -math.inf, [], Page("2", "2"), 1.0]) == [
        "█" * 16,
        *[""] * 10,
        "█" * 8,
    ]
    assert bars_of([0, 0]) == ["", ""]
    assert bars_of([]) == []


def test_numbers_too_large_or_too_small_for_a_float_have_a_bar_of_their_size():
    assert bars_of([10**400, 5 * 10**399, 1, Decimal("5e399"), 5e-324]) == ["█" * 16, "█" * 8, "▏", "█" * 8, "▏"]
    assert bars_of([5e-324]) == ["█" * 16]


@pytest.mark.parametrize("value", range(0, 1001, 7))
def test_a_bar_is_as_long_as_its_number_to_an_eighth_of_a_character(value):
    (longest, bar) = bars_of([1000, value])
    eighths = sum(" ▏▎▍▌▋▊▉█".index(character) for character in bar)
    assert abs(eighths - 16 * 8 * value / 1000) <= (0.5 if value not in range(1, 4) else 1)


def test_bars_of_a_column_that_is_not_there_are_told():
    with pytest.raises(ValueError, match="no column 'tokens' to draw as bars. It has: a, 1."):
        show_table(["a", 1], [], bars="tokens")
    with pytest.raises(ValueError, match="no column '3' to draw"):
        show_table(["a", 1], [], bars=3)
    for bars in ("1", 1, {1}, iter(["1"])):
        assert show_table(["a", 1], [["x", 1]], bars=bars).text.endswith("█")

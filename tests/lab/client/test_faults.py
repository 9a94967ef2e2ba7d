"""What a person is shown: nothing in it hides, moves or gives an order; what is spelling stays as it is."""

import sys
import unicodedata

import pytest

from s02_tool_use.lab.client.faults import printable, shown_so_far

# Format characters that are seen: signs that stand before a number or a word in Arabic, Syriac and Kaithi.
SEEN = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
HIEROGLYPHS = range(0x13430, 0x13460)  # where signs stand beside and above each other: spelling

# Not of category Cf and not seen all the same, from DerivedCoreProperties: Default_Ignorable_Code_Point.
IGNORABLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\ufe00\ufe0f\uffa0\U000e0100\U000e01ef"


def hidden():
    for number in range(sys.maxunicode + 1):
        kind = unicodedata.category(chr(number))
        if kind in ("Cc", "Cf", "Zl", "Zp") and chr(number) not in SEEN and number not in HIEROGLYPHS:
            yield chr(number)


def test_every_character_that_is_not_seen_is_drawn():
    for character in [*hidden(), *IGNORABLE]:
        drawn = printable(f"a{character}b")
        assert character in "\n\t" or character not in drawn, ascii(character)
        assert character in "\n\t" or len(drawn) > 2, ascii(character)


def test_an_override_is_drawn_by_its_number():
    assert printable("exe.png\u202egnp.exe; rm -rf /") == "exe.png<U+202E>gnp.exe; rm -rf /"


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d💻 👨\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 👍🏽 ☎\ufe0e 1\ufe0f\u20e3",
        "می\u200cخواهم, سلام, דבר אל שלום!",
        "क\u094d\u200dष, ශ\u0dca\u200dරී",
        "葛\U000e0100飾区, 你好, 質問 é",
        "café, cafe\u0301, a\u00a0b, 50\u202f%, a\u3000b",
        "100 € \U00013000",
    ],
)
def test_what_is_spelling_stays(text):
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("a\u200db", "a<U+200D>b"),
        ("rm\u200c -rf", "rm<U+200C> -rf"),
        ("👩\u200d", "👩<U+200D>"),
        ("\u200d👩", "<U+200D>👩"),
        ("👩\u200d\u200d👩", "👩<U+200D><U+200D>👩"),
        ("a\ufe0f", "a<U+FE0F>"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f<U+FE0F>"),
        ("1\ufe0f", "1<U+FE0F>"),
        ("葛\U000e0100\U000e0101", "葛\U000e0100<U+E0101>"),
        ("🏴\U000e0067\U000e007f", "🏴<U+E0067><U+E007F>"),
        ("سلام\u200c", "سلام<U+200C>"),
    ],
)
def test_what_stands_where_it_spells_nothing_is_drawn(text, drawn):
    assert printable(text) == drawn


def test_where_a_person_decides_every_joiner_is_drawn():
    said = printable("👩\u200d💻 می\u200cخواهم ❤\ufe0f", everything=True)
    assert said == "👩<U+200D>💻 می<U+200C>خواهم ❤<U+FE0F>"


def test_what_was_drawn_once_is_not_drawn_again():
    once = printable("a\u202eb\x1b\udc80")
    assert printable(once) == printable(once, everything=True) == once


@pytest.mark.parametrize(
    "text", ["👨\u200d👩\u200d👧 می\u200cخواهم 葛\U000e0100飾 1\ufe0f\u20e3 ❤\ufe0f a1#*é", "plain 123"]
)
def test_a_text_that_arrives_in_pieces_is_drawn_as_a_whole_one(text):
    for size in (1, 2, 3):
        drawn, waiting = "", ""
        for start in range(0, len(text), size):
            ready, waiting = shown_so_far(waiting + text[start : start + size])
            drawn += printable(ready)
        assert drawn + printable(waiting) == text


def test_what_waits_is_short_whatever_comes():
    assert len(shown_so_far("é\u200c" * 10_000)[1]) <= 100

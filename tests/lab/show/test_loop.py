"""The picture of the loop: the same places each time, what is lit, who answers, and the same in words."""

import base64
import re
import xml.etree.ElementTree as ET

import pytest

from s02_tool_use.lab import connect, show_loop
from s02_tool_use.lab.show.loop import DARK, LIGHT, STAGES, Call, draw_loop
from s02_tool_use.lab.show.newest import show_newest
from s02_tool_use.lab.show.page import COLOURS, RED

NAMES = ["built", "normalised", "sent", "reply", "handler", "result", "appended"]
CALLS = [Call("A", "glob"), Call("B", "bash", ""), Call("C", "edit_file", "is_error"), Call("D", "glob"), Call("E")]
SHOWN = [Call(name="your tool", ends="an answer")]  # in show_loop


def picture(drawn):
    """The SVG: of the image, or in the page."""
    image = re.search(r'<img [^>]*src="data:image/svg\+xml;base64,([^"]*)"', drawn.html)
    return base64.b64decode(image[1]).decode() if image else re.search("<svg.*</svg>", drawn.html, re.S)[0]


def places(drawn):
    """stage -> where its words stand."""
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>\d (\w+)</text>', picture(drawn))
    return {name: (float(x), float(y)) for x, y, name in found}


def test_the_seven_stages_stand_in_the_same_places_in_every_moment():
    moments = [show_loop(), show_loop(NAMES), draw_loop("end", who="rules", turn=12, calls=CALLS, ends="it ends")]
    assert list(places(moments[0])) == NAMES == list(STAGES)
    assert len({str(places(moment)) for moment in moments}) == 1


def test_the_model_has_its_own_lane():
    y = {name: place[1] for name, place in places(show_loop()).items()}
    assert len({y["sent"], y["reply"]}) == 1
    assert len({y[name] for name in NAMES if name not in ("sent", "reply")}) == 1
    assert y["sent"] < y["built"]


@pytest.mark.parametrize("name", [*NAMES, "turn", "end"])
def test_what_is_lit_stands_out_without_colours_and_in_words(name):
    dark, lit = show_loop(), show_loop(name)
    heavy = [len(re.findall('stroke-width="[23]"', picture(one))) for one in (dark, lit)]
    assert heavy[1] > heavy[0]
    assert "[" not in dark.text
    inside = re.findall(r"\[(.*?)\]", lit.text)
    assert len(inside) == 1
    assert name in inside[0]


def test_several_stages_can_be_lit_and_the_other_spelling_is_known():
    assert re.findall(r"\[(.*?)\]", show_loop(["handler", "result"]).text) == ["5 handler", "6 result"]
    assert show_loop("normalized").html == show_loop("normalised").html


def test_a_stage_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(ValueError, match="The loop has no 'handlers'. It has: built, .*, appended, turn, end."):
        show_loop("handlers")


def test_it_is_an_image_with_its_words_and_repeats_exactly():
    html = show_loop("reply").html
    assert '<img alt="The loop: 1 built -&gt;' in html
    assert "<svg" not in html, "GitHub would drop it, and JupyterLab before the cell was run"
    assert "  3 sent: the model reads the request\n" in html
    assert html == show_loop("reply").html


def test_in_a_widget_it_is_svg_with_a_title_and_a_description():
    html = draw_loop("reply", caption=False).html
    assert re.search('<svg [^>]*role="img"', html)
    assert "<title>The loop: 1 built" in html
    assert "  3 sent: the model reads the request\n" in re.search("<desc>(.*?)</desc>", html, re.S)[1]
    assert "<img" not in html
    assert " id=" not in html


def test_both_forms_draw_the_same():
    image, inside = picture(show_loop("reply")), picture(draw_loop("reply", calls=SHOWN, caption=False))
    assert image[image.index("<rect x=") :] == inside[inside.index("<rect x=") :]


def test_it_needs_no_style_and_without_the_picture_its_words_remain():
    html = show_loop("reply", *connect()).html
    assert "style=" not in picture(draw_loop("reply", caption=False))
    assert "<style" not in html
    said = re.sub("<[^>]*>", "", html)
    for word in (*NAMES, "[4 reply]", "model (rules)", "program", "A tool_use", "A tool_result"):
        assert word in said, word


def test_in_a_widget_it_takes_the_colour_of_the_page_for_lines_and_words():
    html = draw_loop(caption=False).html
    assert 'fill="currentColor"' in html
    assert not re.search('"(black|white|#000|#fff)"', html)


def contrast(one, other):
    """The ratio of WCAG 2 between two colours, as `#rgb` or `#rrggbb`."""

    def light(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_an_image_has_ink_and_ground_of_its_own_by_day_and_by_night():
    svg = picture(show_loop("reply"))
    pairs = re.findall(r"svg\{color:(#\w+)\}\.ground\{fill:(#\w+)\}", svg)
    assert len(pairs) == 2
    assert "@media(prefers-color-scheme:dark)" in svg
    lane = 0.06  # how much of the ink a lane has over the ground
    for ink, ground in pairs:
        assert contrast(ink, ground) > 7
        assert contrast(ink, ground) * (1 - lane) > 7
    assert f'<rect class="ground" fill="{pairs[0][1]}"' in svg, "without its style it is light, not black on black"
    assert f'color="{pairs[0][0]}"' in svg
    for fill in (COLOURS[0], RED):  # what is lit, or has failed
        assert contrast("#fff", fill) >= 4.5


def test_in_grey_what_is_lit_differs_from_the_ground_by_far():
    for _, ground in (LIGHT, DARK):
        assert contrast(COLOURS[0], ground) > 3


@pytest.mark.parametrize(
    "name", ["a\x00b", "\x1b[31m", "\ud800", "\ufffe", "\u202e", "<b>&amp;", '"', "]]>", "\x85", "😀"]
)
def test_whatever_a_name_holds_the_image_is_whole(name):
    drawn = draw_loop("sent", who=name, calls=[Call("A", name, name)], ends=name)
    ET.fromstring(picture(drawn))
    ET.fromstring(picture(draw_loop("sent", who=name, calls=[Call("A", name, name)], caption=False)))


def test_each_call_has_an_arrow_to_its_result_dashed_as_long_as_it_waits():
    html = picture(draw_loop(calls=CALLS[:3]))
    assert [html.count(f"{letter} tool_use") for letter in "ABC"] == [1, 1, 1]
    down = re.findall(r'<polyline points="([\d.]+),53 \1,84" ([^>]*)/>', html)
    assert len(down) == 3
    assert ["dasharray" in looks for _, looks in down] == [False, True, False]
    assert re.search("<text[^>]*>waits</text>", html)
    assert re.search("<text[^>]*>is_error</text>", html)


def test_more_calls_than_fit_are_counted():
    drawn = draw_loop(calls=CALLS)
    assert re.search("<text[^>]*>and 2 more</text>", picture(drawn))
    assert "and 2 more" in drawn.text
    assert "D tool_use" not in drawn.text


def test_the_turn_is_counted_on_the_way_back():
    assert re.search("<text[^>]*>turn 3</text>", picture(draw_loop(turn=3)))
    assert draw_loop(turn=3).text.split("\n")[0].endswith("7 appended -> turn 3")


@pytest.mark.parametrize(
    ("made", "who"), [({"offline": True}, "rules"), ({"script": ["Hello."]}, "a script"), ({}, "rules")]
)
def test_it_says_who_answers_on_the_lane_of_the_model(made, who):
    drawn = show_loop("sent", *connect(**made))
    assert re.search(f"<text[^>]*>{who}</text>", picture(drawn))
    assert f"model ({who})\n  3 sent" in drawn.text


def test_a_live_model_is_named(live):
    drawn = show_loop("sent", *live(["Hello."]))
    assert re.search("<text[^>]*>small-model</text>", picture(drawn))


def test_a_recording_says_that_it_is_one(tmp_path, capsys):
    client, model = connect(script=["Hello."], record=tmp_path / "run.jsonl")
    client.messages.create(model=model, max_tokens=10, messages=[{"role": "user", "content": "Hello?"}])
    assert "model (a script)" in show_loop((), client, model).text
    assert "model (a recording)" in show_loop((), *connect(replay=tmp_path / "run.jsonl")).text


def test_a_name_from_outside_stays_text_and_inside_its_box():
    name = "<script>alert(1)</script>" * 3
    drawn = draw_loop(who=name, calls=[Call("A", name, "done")])
    assert "<script" not in drawn.html + picture(drawn)
    words = re.findall("<text[^>]*>(.*?)</text>", picture(drawn))
    assert max(len(re.sub("&[a-z]+;", ".", word)) for word in words) < 30


# ---- what is new in a conversation

USER = {"role": "user", "content": "Count them."}
ASKS = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_01", "name": "glob", "input": {"pattern": "*.py"}}],
}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_01", "content": "\n".join(f"file{n}.py" for n in range(30))}


def is_open(drawn):
    return [re.sub("<[^>]*>", "", bar).strip() for bar in drawn.html.split('<div style="border-left')[1:]]


def test_only_the_new_block_is_open_and_the_older_have_a_line_each():
    drawn = show_newest([USER, ASKS], [USER])
    assert len(is_open(drawn)) == 1
    assert "glob" in is_open(drawn)[0]
    assert drawn.text == "user text: Count them.\nassistant A tool_use glob [waits for its result]: pattern: *.py"
    assert '"pattern"' not in drawn.text, "names and values, no JSON"


def test_a_result_that_is_not_in_the_list_yet_is_the_new_block():
    drawn = show_newest([USER, ASKS], [USER, ASKS], RESULT)
    assert len(is_open(drawn)) == 1
    assert "waits" not in drawn.text
    assert "A tool_result" in re.sub("<[^>]*>", "", drawn.html)
    assert "30 lines" in is_open(drawn)[0], "a long one is folded"


def test_a_hundred_messages_take_no_more_than_four_lines():
    known = [USER, {"role": "assistant", "content": "Yes."}] * 50
    assert show_newest([*known, USER], known).text.count("\n") == 3
    assert show_newest([*known, USER], known).text.startswith("98 more blocks\n")
    assert show_newest(known, []).text.count("\n") == 6, "all are new, and the last four are open"


@pytest.mark.parametrize("broken", [None, "text", 3, {}, {"role": 1}, {"role": "user", "content": [None, 1, {}]}])
def test_what_is_no_message_is_drawn_too(broken):
    assert show_newest([broken], []).html
    assert show_newest([USER, broken], [broken]).text


@pytest.mark.parametrize(
    ("who", "lines"),
    [
        ("rules", ["rules"]),
        (" ", []),
        ("a-model-5-5-20260929-preview", ["a-model-5-5-20260929-", "preview"]),
        (f"vendor/{'x' * 26}", [f"vendor/{'x' * 19}", "x" * 7]),
        ("x" * 90, ["x" * 26, "x" * 25 + "…"]),
    ],
)
def test_the_long_name_of_a_model_has_two_lines_in_the_picture_and_is_whole_in_its_text(who, lines):
    drawn = draw_loop("built", who=who, caption=False)
    written = re.findall(r'<text x="12" [^>]*>([^<]*)</text>', drawn.html)
    assert [line for line in written if line not in ("model", "program", "who answers:")] == lines
    assert who in drawn.text

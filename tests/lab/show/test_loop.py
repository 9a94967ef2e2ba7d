"""The picture of the loop: the same places each time, what is lit, who answers, and the same in words."""

import re

import pytest

from s02_tool_use.lab import connect, show_loop
from s02_tool_use.lab.show.loop import STAGES, Call, draw_loop
from s02_tool_use.lab.show.newest import show_newest

NAMES = ["built", "normalised", "sent", "reply", "handler", "result", "appended"]
CALLS = [Call("A", "glob"), Call("B", "bash", ""), Call("C", "edit_file", "is_error"), Call("D", "glob"), Call("E")]


def places(drawn):
    """stage -> where its words stand."""
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>\d (\w+)</text>', drawn.html)
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
    assert len(re.findall('stroke-width="[23]"', lit.html)) > len(re.findall('stroke-width="[23]"', dark.html))
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


def test_it_is_a_picture_with_a_title_and_a_description_and_repeats_exactly():
    html = show_loop("reply").html
    assert '<svg role="img"' in html
    assert "<title>The loop: 1 built" in html
    assert "<desc>model: 3 sent: the model reads the request" in html
    assert html == show_loop("reply").html
    assert " id=" not in html


def test_it_needs_no_style_and_without_the_picture_its_words_remain():
    html = show_loop("reply", *connect()).html
    svg = html[html.index("<svg") : html.index("</svg>")]
    assert "style=" not in svg
    assert "<style" not in html
    rest = re.sub(r"<svg.*?</svg>", "", html, flags=re.S)
    said = re.sub("<[^>]*>", "", rest)
    for word in (*NAMES, "[4 reply]", "model (rules)", "program", "A tool_use", "A tool_result"):
        assert word in said, word


def test_it_takes_the_colour_of_the_page_for_lines_and_words():
    html = show_loop().html
    assert 'fill="currentColor"' in html
    assert not re.search('"(black|white|#000|#fff)"', html)


def test_each_call_has_an_arrow_to_its_result_dashed_as_long_as_it_waits():
    html = draw_loop(calls=CALLS[:3]).html
    assert [html.count(f"{letter} tool_use") for letter in "ABC"] == [
        3,
        3,
        3,
    ]  # box, description, words
    down = re.findall(r'<polyline points="([\d.]+),53 \1,84" ([^>]*)/>', html)
    assert len(down) == 3
    assert ["dasharray" in looks for _, looks in down] == [False, True, False]
    assert re.search("<text[^>]*>waits</text>", html)
    assert re.search("<text[^>]*>is_error</text>", html)


def test_more_calls_than_fit_are_counted():
    drawn = draw_loop(calls=CALLS)
    assert re.search("<text[^>]*>and 2 more</text>", drawn.html)
    assert "and 2 more" in drawn.text
    assert "D tool_use" not in drawn.text


def test_the_turn_is_counted_on_the_way_back():
    assert re.search("<text[^>]*>turn 3</text>", draw_loop(turn=3).html)
    assert draw_loop(turn=3).text.split("\n")[0].endswith("7 appended -> turn 3")


@pytest.mark.parametrize(
    ("made", "who"), [({"offline": True}, "rules"), ({"script": ["Hello."]}, "a script"), ({}, "rules")]
)
def test_it_says_who_answers_on_the_lane_of_the_model(made, who):
    drawn = show_loop("sent", *connect(**made))
    assert re.search(f"<text[^>]*>{who}</text>", drawn.html)
    assert f"model ({who}): 3 sent" in drawn.text


def test_a_live_model_is_named(live):
    drawn = show_loop("sent", *live(["Hello."]))
    assert re.search("<text[^>]*>small-model</text>", drawn.html)


def test_a_recording_says_that_it_is_one(tmp_path, capsys):
    client, model = connect(script=["Hello."], record=tmp_path / "run.jsonl")
    client.messages.create(model=model, max_tokens=10, messages=[{"role": "user", "content": "Hello?"}])
    assert "model (a script)" in show_loop((), client, model).text
    assert "model (a recording)" in show_loop((), *connect(replay=tmp_path / "run.jsonl")).text


def test_a_name_from_outside_stays_text_and_inside_its_box():
    name = "<script>alert(1)</script>" * 3
    drawn = draw_loop(who=name, calls=[Call("A", name, "done")])
    assert "<script" not in drawn.html
    words = re.findall("<text[^>]*>(.*?)</text>", drawn.html)
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

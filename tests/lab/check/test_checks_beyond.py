"""The checks of 09: right answers pass, plausible wrong ones fail at the sentence that fits, a stub says "not yet"."""

import copy
import json
import re
from collections import Counter, defaultdict

import pytest
from pydantic import BaseModel, Field, StrictInt

from s02_tool_use.lab import check
from s02_tool_use.lab.check.exercise import NOT_YET, WRONG


@pytest.fixture(autouse=True)
def no_progress_file(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def sentences(verdict, kind=WRONG):
    return [line.sentence for line in verdict.lines if line.verdict == kind]


STUBS = {
    "blocks": lambda events: None,
    "structured": lambda reply: None,
    "cached": lambda request: None,
    "chosen": lambda question, tools, k: None,
    "gate": lambda ask: None,
}


def raising(*_):
    raise NotImplementedError


@pytest.mark.parametrize("name", STUBS)
def test_a_stub_is_not_yet(name):
    tried = getattr(check, name)
    for stub in (None, STUBS[name], raising):
        assert sentences(tried(stub), NOT_YET) == [prop.sentence for prop in tried.properties]


# ---- my_blocks

TEXT, CALL, ORDERED = (
    "text is joined from its pieces",
    "so is the input of a call, parsed into an object",
    "each block keeps what it started with, in order",
)
EMPTY, MIXED, WHOLE = (
    "a call without arguments has an empty input",
    "an event belongs to the block with its index, even if blocks are interleaved",
    "a block that comes whole is kept as it is",
)
STRANGE, BROKEN, BACK, NONE = (
    "pings and unknown events change nothing",
    "an unfinished block is left out",
    "the API accepts the blocks in the next request",
    "no events, no blocks",
)


def blocks_by(
    *, key=lambda event: event.get("index"), fill=None, parse=json.loads, done="content_block_stop", order=sorted
):
    """A my_blocks, put together from parts that an answer may get wrong."""

    def fill_in(block, joined):
        if block["type"] == "text":
            return {**block, "text": joined}
        return {**block, "input": parse(joined or "{}")} if block["type"] == "tool_use" else block

    def my_blocks(events):
        started, pieces, finished = {}, defaultdict(str), []
        for event in events:
            at = key(event)
            if event["type"] == "content_block_start":
                started[at] = event["content_block"]
            if event["type"] == "content_block_delta":
                pieces[at] += event["delta"].get("text", "") + event["delta"].get("partial_json", "")
            if event["type"] == done:
                finished.append(at)
        return [(fill or fill_in)(started[at], pieces[at]) for at in order(finished)]

    return my_blocks


def blocks_by_lists(events):
    blocks = []
    for event in events:
        match event:
            case {"type": "content_block_start", "index": index, "content_block": block}:
                blocks.append([index, copy.deepcopy(block), [], False])
            case {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": piece}}:
                blocks[index][2].append(piece)
            case {"type": "content_block_delta", "index": index, "delta": {"partial_json": piece}}:
                blocks[index][2].append(piece)
            case {"type": "content_block_stop", "index": index}:
                blocks[index][3] = True
    made = []
    for _, block, pieces, whole in blocks:
        if whole and block["type"] == "tool_use":
            block["input"] = json.loads("".join(pieces)) if any(pieces) else {}
        elif whole and pieces:
            block["text"] = "".join(pieces)
        if whole:
            made.append(block)
    return made


def blocks_in_place(events):
    open_blocks, done = {}, {}
    for event in events:
        kind = event["type"]
        if not kind.startswith("content_block"):
            continue
        if kind == "content_block_start":
            open_blocks[event["index"]] = {**event["content_block"], "so_far": ""}
        elif kind == "content_block_delta" and event["delta"]["type"] == "text_delta":
            open_blocks[event["index"]]["text"] += event["delta"]["text"]
        elif kind == "content_block_delta" and event["delta"]["type"] == "input_json_delta":
            open_blocks[event["index"]]["so_far"] += event["delta"]["partial_json"]
        elif kind == "content_block_stop":
            block = open_blocks.pop(event["index"])
            so_far = block.pop("so_far")
            if so_far:
                block["input"] = json.loads(so_far)
            done[event["index"]] = block
    return [done[key] for key in sorted(done)]


@pytest.mark.parametrize("right", [blocks_by(), blocks_by_lists, blocks_in_place], ids=["dicts", "match", "in place"])
def test_right_blocks_pass(right):
    assert check.blocks(right).passed


def by_the_last_start():
    """A key that goes by the last block that started, not by the index."""
    seen = [0]

    def key(event):
        if event["type"] == "message_start":
            seen[0] = -1
        seen[0] += event["type"] == "content_block_start"
        return seen[0]

    return key


def text_alone(block, joined):
    return {**block, "text": joined} if block["type"] == "text" else block


def with_the_pieces(block, joined):
    made = {**block, "partial_json": joined}
    return made | ({"text": joined} if block["type"] == "text" else {"input": json.loads(joined or "{}")})


def only_what_is_needed(block, joined):
    if block["type"] == "text":
        return {"type": "text", "text": joined}
    return {"type": "tool_use", "name": block["name"], "input": json.loads(joined or "{}")}


def only_two_kinds(events):
    return [block for block in blocks_by()(events) if block["type"] in ("text", "tool_use")]


def last_piece(events):
    texts = [event["delta"].get("text") for event in events if event["type"] == "content_block_delta"]
    return [{"type": "text", "text": texts[-1]}] if texts else []


def by_the_start(events):
    return blocks_by(done="content_block_start")(events)


def every_delta(events):
    return [event["delta"] for event in events if event["type"] == "content_block_delta"]


def strict_about_events(events):
    known = {"message_start", "content_block_start", "content_block_delta", "content_block_stop"}
    known |= {"message_delta", "message_stop", "ping"}
    for event in events:
        if event["type"] not in known:
            raise ValueError(event["type"])
    return blocks_by()(events)


def no_empty(block, joined):
    if block["type"] == "tool_use":
        return {**block, "input": json.loads(joined)}
    return text_alone(block, joined)


WRONG_BLOCKS = {
    "the last piece alone": (last_piece, TEXT),
    "the deltas": (every_delta, TEXT),
    "no input": (blocks_by(fill=text_alone), CALL),
    "the input as a string": (blocks_by(parse=str), CALL),
    "new blocks without an id": (blocks_by(fill=only_what_is_needed), CALL),
    "the pieces stay in the block": (blocks_by(fill=with_the_pieces), BACK),
    "the last first": (blocks_by(order=lambda done: sorted(done, reverse=True)), ORDERED),
    "an empty piece is parsed": (blocks_by(fill=no_empty), EMPTY),
    "by the last block that started": (blocks_by(key=by_the_last_start()), MIXED),
    "two kinds alone": (only_two_kinds, WHOLE),
    "an unknown event is an error": (strict_about_events, STRANGE),
    "a block counts from its start": (by_the_start, BROKEN),
    "a constant": (lambda events: [{"type": "text", "text": "Let me look."}], TEXT),
}


@pytest.mark.parametrize(("wrong", "sentence"), WRONG_BLOCKS.values(), ids=WRONG_BLOCKS)
def test_wrong_blocks_fail_with_the_sentence_that_fits(wrong, sentence):
    assert sentence in sentences(check.blocks(wrong))


# ---- my_order


class Order(BaseModel):
    customer: str
    tea: str
    grams: StrictInt = Field(ge=1)


def order_by_pydantic(reply):
    if reply.stop_reason not in {"end_turn", "tool_use"}:
        raise ValueError(reply.stop_reason or "the stream broke")
    for block in reversed(reply.content):
        if block.type == "tool_use":
            return Order.model_validate(block.input).model_dump()
        if block.type == "text":
            return Order.model_validate_json(block.text).model_dump()
    raise ValueError("nothing was said")


def order_by_hand(reply, stops=("end_turn", "tool_use"), least=1, kinds=(str, str, int), strict=True):
    if reply.stop_reason not in stops:
        raise ValueError(f"stopped: {reply.stop_reason}")
    block = reply.content[-1] if reply.content else None
    if block is None:
        raise ValueError("nothing")
    found = block.input if block.type == "tool_use" else json.loads(block.text)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    for field, kind in zip(("customer", "tea", "grams"), kinds, strict=True):
        if field not in found:
            raise ValueError(f"{field} is missing")
        value = found[field]
        if not isinstance(value, kind) or (strict and isinstance(value, bool)):
            raise ValueError(f"{field}: {value!r}")
    if found["grams"] < least:
        raise ValueError("grams: too few")
    return found


def order_by_calls_first(reply):
    if reply.stop_reason == "refusal":
        raise ValueError("The model refused.")
    if reply.stop_reason in ("max_tokens", None):
        raise ValueError(f"The reply was cut off ({reply.stop_reason}).")
    calls = [block for block in reply.content if block.type == "tool_use"]
    texts = [block for block in reply.content if block.type == "text"]
    if calls:
        order = calls[0].input
    elif texts:
        order = json.loads(texts[-1].text)
    else:
        raise ValueError("neither a call nor a text")
    try:
        customer, tea, grams = (order[field] for field in ("customer", "tea", "grams"))
    except KeyError as error:
        raise ValueError(f"missing: {error}") from None
    except TypeError:
        raise ValueError("no object") from None
    if type(customer) is not str or type(tea) is not str:
        raise ValueError("customer and tea must be strings")
    if type(grams) is not int or grams < 1:
        raise ValueError("grams is a whole number from 1 on")
    return {"customer": customer, "tea": tea, "grams": grams}


RIGHT_ORDERS = [order_by_pydantic, order_by_hand, order_by_calls_first]


@pytest.mark.parametrize("right", RIGHT_ORDERS, ids=lambda f: f.__name__)
def test_right_orders_pass(right):
    assert check.structured(right).passed, check.structured(right)


FORCED, SAID, BEFORE, CUT = (
    "the order is the input of a call",
    "or text that is JSON",
    "whatever blocks come before it",
    "a reply cut off at max_tokens is refused, however complete it looks",
)
REFUSED, HALF, NO_JSON = (
    "so is a refusal, and the error says so",
    "so is a reply whose stream broke: its stop_reason is None",
    "text that is not a JSON object is a ValueError",
)


def some(**changed):
    return lambda reply: order_by_hand(reply, **changed)


def first_block(reply):
    return order_by_hand(type(reply)(content=reply.content[:1], stop_reason=reply.stop_reason))


def only_calls(reply):
    if reply.stop_reason != "tool_use":
        raise ValueError(reply.stop_reason)
    return order_by_hand(reply)


def only_texts(reply):
    if reply.content and reply.content[-1].type == "tool_use":
        raise ValueError("a call")
    return order_by_hand(reply)


def gives_none(reply):
    try:
        return order_by_hand(reply)
    except ValueError:
        return None


def as_a_string(reply):
    return json.dumps(order_by_hand(reply))


def lets_a_key_error_out(reply):
    if reply.stop_reason not in ("end_turn", "tool_use"):
        raise ValueError(reply.stop_reason)
    last = reply.content[-1]
    order = last.input if last.type == "tool_use" else json.loads(last.text)
    return {field: order[field] for field in ("customer", "tea", "grams")}


class Lax(BaseModel):
    customer: str
    tea: str
    grams: int = Field(ge=1)


def lax(reply):
    if reply.stop_reason not in {"end_turn", "tool_use"}:
        raise ValueError(reply.stop_reason)
    last = reply.content[-1]
    return Lax.model_validate(last.input if last.type == "tool_use" else json.loads(last.text)).model_dump()


WRONG_ORDERS = {
    "forced calls alone": (only_calls, SAID),
    "texts alone": (only_texts, FORCED),
    "the first block": (first_block, BEFORE),
    "no look at max_tokens": (some(stops=("end_turn", "tool_use", "max_tokens")), CUT),
    "no look at refusal": (some(stops=("end_turn", "tool_use", "refusal")), REFUSED),
    "no look at None": (some(stops=("end_turn", "tool_use", None)), HALF),
    "a KeyError": (lets_a_key_error_out, "without customer there is no order, and the error names it"),
    "None in place of an error": (gives_none, CUT),
    "True is a number": (some(strict=False), "grams must be an integer"),
    "a fraction is one": (some(kinds=(str, str, (int, float))), "grams must be an integer"),
    "a string is converted": (lax, "grams must be an integer"),
    "anything is a customer": (some(kinds=(object, object, int)), "customer and tea must be strings"),
    "zero grams": (some(least=0), "less than one gram is refused, though the schema allows it"),
    "JSON again": (as_a_string, FORCED),
    "a constant": (lambda reply: {"customer": "Ada", "tea": "Sencha", "grams": 250}, CUT),
}


@pytest.mark.parametrize(("wrong", "sentence"), WRONG_ORDERS.values(), ids=WRONG_ORDERS)
def test_wrong_orders_fail_with_the_sentence_that_fits(wrong, sentence):
    assert sentence in sentences(check.structured(wrong))


# ---- my_cached

MARKER = {"type": "ephemeral"}
PLACES, STRING, ABSENT, A_RESULT, A_MARKER, NOTHING_ELSE, READS, OLD, SAME = [
    "the last tool, the last system block and the very last block are marked",
    "a string becomes a block that can be marked",
    "without tools or system, only the last block is marked",
    "a tool_result can be marked too",
    'a marker is {"type": "ephemeral"}',
    "nothing else changes",
    "each request of a conversation reads what earlier ones wrote",
    "even if the history still holds old markers",
    "the request it is given stays as it was",
]


def listed(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def marks(*, parts=("tools", "system", "messages"), clean=True, make=copy.deepcopy, marker=MARKER, first=False):
    """A my_cached, put together from parts that an answer may get wrong."""

    def my_cached(request):
        request = make(request)
        if "system" in request:
            request["system"] = listed(request["system"])
        for message in request["messages"]:
            message["content"] = listed(message["content"])
            for block in message["content"] if clean else ():
                block.pop("cache_control", None)
        ends = {**request, "messages": request["messages"][-1]["content"]}
        for part in parts:
            if ends.get(part):
                ends[part][0 if first else -1]["cache_control"] = marker
        return request

    return my_cached


def cached_without_copying_all(request):
    def marked(parts):
        return [*parts[:-1], {**parts[-1], "cache_control": MARKER}]

    def bare(message):
        blocks = [{k: v for k, v in block.items() if k != "cache_control"} for block in listed(message["content"])]
        return {**message, "content": blocks}

    *said, last = map(bare, request["messages"])
    made = {**request, "messages": [*said, {**last, "content": marked(last["content"])}]}
    if request.get("tools"):
        made["tools"] = marked(request["tools"])
    if request.get("system"):
        made["system"] = marked(listed(request["system"]))
    return made


def cached_by_the_api(request):
    """The marker of the very last block can be left to the API."""
    return {**marks(parts=("tools", "system"))(request), "cache_control": MARKER}


def cached_by_json(request):
    made = json.loads(json.dumps(request))
    for message in made["messages"]:
        if type(message["content"]) is str:
            message["content"] = [{"type": "text", "text": message["content"]}]
        for block in message["content"]:
            if "cache_control" in block:
                del block["cache_control"]
    if type(made.get("system")) is str:
        made["system"] = [{"type": "text", "text": made["system"]}]
    made["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    if made.get("tools"):
        made["tools"][-1]["cache_control"] = {"type": "ephemeral"}
    if made.get("system"):
        made["system"][-1]["cache_control"] = {"type": "ephemeral"}
    return made


def cached_that_leaves_older_strings(request):
    made = copy.deepcopy(request)
    made["messages"][-1]["content"] = listed(made["messages"][-1]["content"])
    for message in made["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else []:
            block.pop("cache_control", None)
    made["system"] = listed(made.get("system", []))
    for part in (made.get("tools"), made["system"], made["messages"][-1]["content"]):
        if part:
            part[-1]["cache_control"] = dict(MARKER)
    return made if made["system"] else {key: value for key, value in made.items() if key != "system"}


RIGHT_CACHED = [
    cached_that_leaves_older_strings,
    marks(),
    marks(marker={**MARKER, "ttl": "5m"}),
    cached_without_copying_all,
    cached_by_the_api,
    cached_by_json,
]


@pytest.mark.parametrize("right", RIGHT_CACHED, ids=lambda f: f.__name__)
def test_right_markers_pass(right):
    assert check.cached(right).passed, check.cached(right)


def strings_stay(request):
    made = copy.deepcopy(request)
    made["messages"][-1]["cache_control"] = MARKER
    return made


def last_message_alone(request):
    return {**marks()(request), "messages": marks()(request)["messages"][-1:]}


def needs_tools(request):
    made = copy.deepcopy(request)
    made["tools"][-1]["cache_control"] = MARKER
    return marks()(made)


def a_new_day(request):
    made = marks()(request)
    if made.get("system"):
        made["system"][0]["text"] += f" Message {len(made['messages'])}."
    return made


def forgets_to_return(request):
    marks()(request)


WRONG_CACHED = {
    "messages alone": (marks(parts=("messages",)), PLACES),
    "system alone": (marks(parts=("system",)), PLACES),
    "no tools": (marks(parts=("system", "messages")), PLACES),
    "the first of each": (marks(first=True), PLACES),
    "the message is marked": (strings_stay, PLACES),
    "old markers stay": (marks(clean=False), OLD),
    "no copy": (marks(make=lambda request: request), SAME),
    "a shallow copy": (marks(make=dict), SAME),
    "another marker": (marks(marker={"type": "persistent"}), A_MARKER),
    "True for a marker": (marks(marker=True), A_MARKER),
    "the history is lost": (last_message_alone, NOTHING_ELSE),
    "tools are taken for granted": (needs_tools, ABSENT),
    "system changes with each request": (a_new_day, READS),
    "forgotten return": (forgets_to_return, PLACES),
    "as it was": (copy.deepcopy, PLACES),
    "as it was, which caches nothing": (copy.deepcopy, READS),
}


@pytest.mark.parametrize(("wrong", "sentence"), WRONG_CACHED.values(), ids=WRONG_CACHED)
def test_wrong_markers_fail_with_the_sentence_that_fits(wrong, sentence):
    assert sentence in sentences(check.cached(wrong))


# ---- my_tools

PICKED, DESCRIBED, NAMED, ARGUED, WRITTEN, COMMON, IN_ORDER, FEWER, UNCHANGED = [
    "it returns k tools from the list, none twice",
    "the words of a description count",
    "so do the words of a name, joined by _",
    "so do the names of the arguments",
    "capitals and punctuation do not matter",
    "common words do not outweigh a rare one",
    "they keep the order of the catalogue",
    "with fewer than k tools, all of them",
    "the list it is given stays as it was",
]


def words_of(text):
    return set(re.findall(r"[a-z]+", text.lower()))


def ranks(*, words=words_of, say=("name", "description", "arguments"), rare=True, in_order=True, sort=sorted):
    """A my_tools, put together from parts that an answer may get wrong."""

    def my_tools(question, tools, k):
        said = [{**tool, "arguments": " ".join(tool["input_schema"]["properties"])} for tool in tools]
        sets = [words(" ".join(tool[key] for key in say)) for tool in said]
        count = Counter(word for each in sets for word in each)
        scores = [sum(1 / count[word] if rare else 1 for word in words(question) & each) for each in sets]
        best = sorted(range(len(tools)), key=lambda n: -scores[n])[:k]
        return [tools[n] for n in (sorted(best) if in_order else best)]

    return my_tools


def tools_by_inverse_frequency(question, tools, k):
    import math

    texts = [json.dumps(tool).lower() for tool in tools]
    found = [Counter(re.findall(r"[a-z]+", text)) for text in texts]
    scored = []
    for place, tool in enumerate(tools):
        score = 0.0
        for word in set(re.findall(r"[a-z]+", question.lower())):
            having = sum(word in each for each in found)
            if having and word in found[place]:
                score += math.log(1 + len(tools) / having) ** 2
        scored.append((-score, place, tool))
    chosen = sorted(scored, key=lambda row: row[:2])[:k]
    return [tool for _, _, tool in sorted(chosen, key=lambda row: row[1])]


COMMON_WORDS = """
a about all an and any are as at be by can do does for from has have how i in is it its me my not of on one or please so
that the this those to want what when where which who whom will with you
"""
STOP_WORDS = set(COMMON_WORDS.split())


def tools_by_stop_words(question, tools, k):
    def meant(text):
        return {word for word in re.sub(r"[^a-z]", " ", text.lower()).split() if word not in STOP_WORDS}

    asked = meant(question)

    def score(tool):
        return len(
            asked & meant(f"{tool['name']} {tool['description']} {' '.join(tool['input_schema']['properties'])}")
        )

    best = sorted(tools, key=score, reverse=True)[:k]
    return [tool for tool in tools if tool in best]


RIGHT_TOOLS = [ranks(), tools_by_inverse_frequency, tools_by_stop_words]


@pytest.mark.parametrize("right", RIGHT_TOOLS, ids=lambda f: f.__name__)
def test_right_choices_pass(right):
    assert check.chosen(right).passed, check.chosen(right)


def sorts_the_list(question, tools, k):
    tools.sort(key=lambda tool: tool["name"])
    return ranks()(question, tools, k)


def by_substring(question, tools, k):
    def score(tool):
        return sum(word in f"{tool['name']} {tool['description']}".lower() for word in question.lower().split())

    best = sorted(tools, key=score, reverse=True)[:k]
    return [tool for tool in tools if tool in best]


def only_matches(question, tools, k):
    asked = words_of(question)
    return [tool for tool in tools if asked & words_of(tool["description"])][:k]


def names_of_tools(question, tools, k):
    return [tool["name"] for tool in ranks()(question, tools, k)]


def always_five(question, tools, k):
    return ranks()(question, tools, 5)


def to_the_letter(text):
    return set(re.findall(r"[A-Za-z]+", text))


def by_spaces(text):
    return set(text.lower().replace("_", " ").split())


def names_whole(text):
    return set(re.findall(r"[a-z_]+", text.lower()))


def padded(question, tools, k):
    found = ranks()(question, tools, k)
    return [*found, *found[-1:] * (k - len(found))]


WRONG_TOOLS = {
    "the first k": (lambda question, tools, k: tools[:k], DESCRIBED),
    "their names": (names_of_tools, PICKED),
    "always five": (always_five, PICKED),
    "only those that match": (only_matches, PICKED),
    "names alone": (ranks(say=("name",)), DESCRIBED),
    "descriptions alone": (ranks(say=("description",)), NAMED),
    "no arguments": (ranks(say=("name", "description")), ARGUED),
    "a name is one word": (ranks(words=names_whole), NAMED),
    "capitals count": (ranks(words=to_the_letter), WRITTEN),
    "punctuation counts": (ranks(words=by_spaces), WRITTEN),
    "each word counts the same": (ranks(rare=False), COMMON),
    "any part of a word": (by_substring, COMMON),
    "the best first": (ranks(in_order=False), IN_ORDER),
    "the list is sorted": (sorts_the_list, UNCHANGED),
    "the last one again": (padded, FEWER),
}


@pytest.mark.parametrize(("wrong", "sentence"), WRONG_TOOLS.values(), ids=WRONG_TOOLS)
def test_wrong_choices_fail_with_the_sentence_that_fits(wrong, sentence):
    assert sentence in sentences(check.chosen(wrong)), check.chosen(wrong)


# ---- my_gate

UNASKED, ASKED, DENIED, NO_YES, HELD, LONG, HIDDEN = [
    "tools that only read run without a question",
    "every other call asks once, and runs after a yes",
    "after a no it does not run, and the reason is a string",
    "anything but True is a no",
    "the question names the tool and every argument",
    "in full, however long",
    "nothing can hide: characters that do not print are spelled out",
]


def gates(
    *, free=("read_file", "glob"), show=json.dumps, yes=lambda said: said is True, no="The user said no.", times=1
):
    """A my_gate, put together from parts that an answer may get wrong."""

    def my_gate(ask):
        def approve(block):
            if block["name"] in free:
                return True
            said = [ask(f"Run {block['name']}: {show(block['input'])}?") for _ in range(times)][-1]
            return True if yes(said) else no

        return approve

    return my_gate


class Gate:
    def __init__(self, ask):
        self.ask = ask

    def __call__(self, block):
        free = block["name"] in {"read_file", "glob"}
        allowed = free or self.ask(repr({"tool": block["name"], **block["input"]}))
        return allowed if allowed is True else "Not allowed."


def gate_line_by_line(ask):
    def approve(block):
        match block["name"]:
            case "read_file" | "glob":
                return True
        lines = [f"Tool: {block['name']}", *(f"  {key}: {value!a}" for key, value in block["input"].items())]
        if ask("\n".join(lines)) is not True:
            return f"The user did not allow {block['name']}."
        return True

    return approve


def gate_with_json_lines(ask):
    return lambda block: (
        block["name"] in ("read_file", "glob")
        or ask(block["name"] + " " + json.dumps(block["input"], indent=2)) is True
        or "no"
    )


RIGHT_GATES = [gates(), Gate, gate_line_by_line, gate_with_json_lines]


@pytest.mark.parametrize("right", RIGHT_GATES, ids=lambda f: f.__name__)
def test_right_gates_pass(right):
    assert check.gate(right).passed, check.gate(right)


def deny_list(ask):
    def approve(block):
        if block["name"] not in ("bash", "write_file", "edit_file"):
            return True
        return ask(f"{block['name']} {json.dumps(block['input'])}") is True or "no"

    return approve


def remembers(ask):
    allowed = {}

    def approve(block):
        return allowed.setdefault("all", ask(block["name"]) is True) or "no"

    return approve


def asks_the_name(block):
    return ""


def raw(given):
    return ", ".join(f"{key}={value}" for key, value in given.items())


def first_argument(given):
    return repr(next(iter(given.values())))


def calls_at_once(ask):
    return ask("May it run?") is True or "no"


WRONG_GATES = {
    "asks about reads": (gates(free=()), UNASKED),
    "reads are refused": (lambda ask: lambda block: ask(str(block)) is True or "no", UNASKED),
    "a deny-list": (deny_list, ASKED),
    "nobody is asked": (lambda ask: lambda block: True, ASKED),
    "all is refused": (lambda ask: lambda block: "no", ASKED),
    "asks twice": (gates(times=2), ASKED),
    "bash is free": (gates(free=("read_file", "glob", "bash")), ASKED),
    "no reason": (gates(no=False), DENIED),
    "an empty reason": (gates(no=""), DENIED),
    "any yes will do": (gates(yes=bool), NO_YES),
    "not a no": (gates(yes=lambda said: said is not False), NO_YES),
    "equal to True": (gates(yes=lambda said: said == True), NO_YES),  # noqa: E712
    "shows the name alone": (gates(show=asks_the_name), HELD),
    "shows one argument": (gates(show=first_argument), HELD),
    "shows the start": (gates(show=lambda given: json.dumps(given)[:200]), LONG),
    "shows it raw": (gates(show=raw), HIDDEN),
    "JSON that keeps what does not print": (gates(show=lambda given: json.dumps(given, ensure_ascii=False)), HIDDEN),
    "drops what does not print": (gates(show=lambda g: "".join(c for c in raw(g) if c.isprintable())[:300]), LONG),
    "asks when it is made": (calls_at_once, UNASKED),
}


@pytest.mark.parametrize(("wrong", "sentence"), WRONG_GATES.values(), ids=WRONG_GATES)
def test_wrong_gates_fail_with_the_sentence_that_fits(wrong, sentence):
    assert sentence in sentences(check.gate(wrong)), check.gate(wrong)

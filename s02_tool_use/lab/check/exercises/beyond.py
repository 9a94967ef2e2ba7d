"""The exercises of 09: a streamed reply, data that can be trusted, cache markers, few of many tools, a gate."""

import copy
import json
from dataclasses import replace

from ...api import wire
from ...api.rules import validate
from ..exercise import Block, Given, Named, Such, exercise
from .parts import Raised, assistant, call, gives, refusing, result, rows_of, string_that, text, untouched, user

# ---- a streamed reply


class Events(list):
    """The events of a reply, which a verdict shows by what was streamed."""

    def __init__(self, events, about):
        super().__init__(events)
        self.about = about

    def __repr__(self):
        return f"<the events of {self.about}>"


def _streamed(*blocks, broken=False, mixed=False, odd=False):
    """The events of a reply with these blocks: until the middle of the last one, or in turn, or with others between."""
    request = {"model": "any", "max_tokens": 8000, "messages": [user("Hi")]}
    message, rest = wire.message_body(request, {"content": list(blocks)})
    events, about = [data for _, data in wire.stream_events(message, rest)], ", ".join(map(_named, blocks))
    start, *middle, delta, stop = events
    if broken:
        events, about = [start, *middle[:-2]], f"{about}, broken off in the middle of the last one"
    if mixed:
        rows = [[event for event in middle if event.get("index") == number] for number in range(len(blocks))]
        turns = [row[at] for at in range(max(map(len, rows))) for row in rows if at < len(row)]
        events, about = [start, *turns, delta, stop], f"{about}, mixed"
    if odd:
        strange = [{"type": "ping"}, {"type": "weather", "delta": {"type": "rain"}}]
        events, about = [copy.copy(e) for event in events for e in (event, *strange)], f"{about}, pings between"
    return Events(events, about)


def _named(block):
    return f"{block['type']} {block.get('text') or block.get('input', '')!r}"


def _plain(blocks, *_):
    """The blocks without the fields that may be there or not."""
    return [
        {key: value for key, value in dict(block).items() if key not in ("caller", "citations")} for block in blocks
    ]


def _taken_back(blocks, *_):
    """What the API says when the blocks are sent back to it, with a result for each call."""
    answers = [{**result(1), "tool_use_id": block["id"]} for block in blocks if block["type"] == "tool_use"]
    messages = [user("Hi"), assistant(*blocks), user(*answers, text("Go on."))]
    problem = validate({"model": "any", "max_tokens": 1, "messages": messages})
    return "accepted" if problem is None else problem.message


@exercise("my_blocks(events), a function that returns the content blocks of a streamed reply")
def blocks():
    said, other = text("Let me look at both, one after the other."), text("And then I will tell you more of it.")
    read, run = call(1, "read_file", path="data/orders.csv"), call(2, command='echo "}{" \\ "ünï"')
    empty = {**call(1, "now"), "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01", "content": []}
    events, pieces = (1, "Each event names the block"), (1, "Joined, they are JSON")
    end, strange = (1, "A stream can break"), (1, "Pass over whatever")

    def streams(sentence, read, **how):
        rows = gives(sentence, read)
        return lambda *replies: rows(*[(_streamed(*reply, **how), reply) for reply in replies], see=_plain)

    yield streams("text is joined from its pieces", events)([said])
    yield streams("so is the input of a call, parsed into an object", pieces)([read], [run])
    yield streams("each block keeps what it started with, in order", events)([said, read, run])
    yield streams("a call without arguments has an empty input", pieces)([empty])
    yield streams("an event belongs to the block with its index, even if blocks are interleaved", events, mixed=True)(
        [said, other], [said, read, run]
    )
    yield streams("a block that comes whole is kept as it is", events)([found, said])
    yield streams("pings and unknown events change nothing", strange, odd=True)([said, read])
    yield gives("an unfinished block is left out", end)(
        (_streamed(read, broken=True), []), (_streamed(said, read, broken=True), [said]), see=_plain
    )
    yield rows_of("accepted", _taken_back)("the API accepts the blocks in the next request", events)(
        _streamed(said, read, run)
    )
    yield rows_of([], _plain)("no events, no blocks", events)(Events([], "nothing"))


# ---- data that can be trusted


class Reply(Given): ...


ORDERED = {"customer": "Ada", "tea": "Sencha", "grams": 250}


def _reply(*content, stop="end_turn"):
    return Reply(content=list(content), stop_reason=stop)


def _words(words, stop="end_turn"):
    return _reply(Block(type="text", text=words if isinstance(words, str) else json.dumps(words)), stop=stop)


def _form(given=ORDERED, stop="tool_use"):
    return _reply(Block(type="tool_use", id="toolu_01", name="order", input=given), stop=stop)


def _refusal(*words):
    """A right answer: a ValueError whose text holds one of these words."""
    said = " or ".join(map(repr, words))
    return Such(
        f"a ValueError that says {said}" if words else "a ValueError",
        lambda value: isinstance(value, Raised) and (not words or any(w in value.text.lower() for w in words)),
    )


@exercise("my_order(reply), a function that returns the order in a reply as a dict, or raises a ValueError")
def structured():
    form, text_form, stops, yours = (
        (2, "In a forced call"),
        (2, "With `output_config` it is"),
        (2, "Look at `stop_reason` first"),
        (2, "The form says nothing"),
    )
    thought = Block(type="thinking", thinking="Hm.", signature="x")
    spoken = Block(type="text", text="Here it is.")
    holds, refuses = rows_of(ORDERED), lambda *words: rows_of(_refusal(*words), run=refusing)
    yield holds("the order is the input of a call", form)(_form())
    yield holds("or text that is JSON", text_form)(_words(ORDERED), _words(json.dumps(ORDERED, indent=2)))
    yield holds("whatever blocks come before it", text_form)(
        _reply(thought, *_words(ORDERED).content), _reply(spoken, *_form().content, stop="tool_use")
    )
    yield refuses("max_tokens")("a reply cut off at max_tokens is refused, however complete it looks", stops)(
        _form(ORDERED | {"grams": 25}, "max_tokens"), _words('{"customer": "Ada", "tea": "Sen', "max_tokens")
    )
    yield refuses("refus")("so is a refusal, and the error says so", stops)(
        _words("I can't help with that.", "refusal"), _form(ORDERED, "refusal")
    )
    yield refuses()("so is a reply whose stream broke: its stop_reason is None", stops)(_form(ORDERED, None))
    yield refuses()("text that is not a JSON object is a ValueError", text_form)(
        _words("Ada wants 250 grams of Sencha."), _words([ORDERED]), _words("null"), _words("250"), _reply()
    )
    for field in ORDERED:
        rest = {key: value for key, value in ORDERED.items() if key != field}
        yield refuses(field)(f"without {field} there is no order, and the error names it", form)(
            _form(rest), _words(rest)
        )
    yield refuses("grams")("grams must be an integer", form)(
        *[_form(ORDERED | {"grams": odd}) for odd in ("250", 2.5, None, True)]
    )
    yield refuses("customer", "tea")("customer and tea must be strings", form)(
        _form(ORDERED | {"customer": None}), _words(ORDERED | {"tea": 7})
    )
    yield refuses("grams")("less than one gram is refused, though the schema allows it", yours)(
        _form(ORDERED | {"grams": 0}), _words(ORDERED | {"grams": -250})
    )


# ---- cache markers


def _is_marker(marker):
    """A ttl may be said too."""
    return marker["type"] == "ephemeral" and len(marker) == 1 + (marker.get("ttl") in ("5m", "1h"))


class Long(str):
    """A text that is long enough to be cached, which a verdict shows by its beginning."""

    def __repr__(self):
        return f"{str(self[:16])!r}... {len(self)} characters"


def _long(name):
    return {"name": name, "description": Long(f"Tool {name}. " * 150), "input_schema": {"type": "object"}}


_TOOLS = [_long("a"), _long("b")]
_SYSTEM = [text("Be brief."), text(Long("These are the rules of the shop. " * 150))]


def _request(*messages, **more):
    return {"model": "any", "max_tokens": 100, "messages": list(messages), **more}


def _blocks(content):
    return content if isinstance(content, list) else [text(content)]


def _places(request):
    """Where the markers of a request stand. One of the whole request counts as one of its last block."""
    last = len(request["messages"]) - 1
    parts = [(f"tools.{n}", tool) for n, tool in enumerate(request.get("tools") or [])]
    parts += [(f"system.{n}", part) for n, part in enumerate(_blocks(request.get("system") or []))]
    for at, message in enumerate(request["messages"]):
        content = _blocks(message["content"])
        parts += [(f"messages.{at}.content.{n}", part) for n, part in enumerate(content)]
        end = f"messages.{last}.content.{len(content) - 1}"
    found = {place for place, part in parts if part.get("cache_control")}
    return sorted(found | ({end} if request.get("cache_control") else set()))


def _wanted(request):
    """Where they should stand: on the last tool, the last block of system, the last block of the last message."""
    last = len(request["messages"]) - 1
    tools, system = len(request.get("tools") or []), len(_blocks(request.get("system") or []))
    wanted = [f"messages.{last}.content.{len(_blocks(request['messages'][-1]['content'])) - 1}"]
    return sorted(wanted + [f"tools.{tools - 1}"] * bool(tools) + [f"system.{system - 1}"] * bool(system))


def _unmarked(request, *_):
    """A request as it is without markers, with blocks for strings."""

    def plain(part):
        return {key: value for key, value in part.items() if key != "cache_control"}

    made = plain(request)
    for key in ("tools", "system"):
        if key in made:
            made[key] = [plain(part) for part in _blocks(made[key])]
    said = [{**m, "content": [plain(part) for part in _blocks(m["content"])]} for m in made["messages"]]
    return made | {"messages": said}


AS_IT_WAS = Named("six requests of one conversation", keep=False)
AS_GIVEN_BACK = Named("six requests of one conversation, with the history that the last one had", keep=True)


def _in_blocks(request):
    """The same prompt: a string is one text block, and offline it counts a few tokens less."""
    messages = [
        {**m, "content": [text(m["content"])]} if isinstance(m["content"], str) else m for m in request["messages"]
    ]
    return {**request, "messages": messages}


def _talked(yours, talk):
    """What six requests of one conversation read from the cache. `talk.keep`: their history is what yours gave back."""
    request, known, before = _request(user("Question 0."), tools=_TOOLS, system=_SYSTEM), set(), 0
    for turn in range(1, 7):
        marked = yours(copy.deepcopy(request))
        problem = validate(marked)
        if problem is not None:
            return f"request {turn}: {problem.message}"
        usage = wire.cache_usage(_in_blocks(marked), known)
        read = usage["cache_read_input_tokens"]
        if read < before or not read and turn > 1:
            return f"request {turn} read {read} tokens from the cache, where the ones before it had left {before}"
        before = read + usage["cache_creation_input_tokens"]
        kept = marked if talk.keep else request
        said = [assistant(text(f"Answer {turn}. ")), user(text(f"Question {turn}. " * 20))]
        request = {**kept, "messages": [*kept["messages"], *said]}
        request.pop("cache_control", None)
    return "each request read what earlier ones wrote"


@exercise("my_cached(request), a function that returns a copy of a request, with its cache markers")
def cached():
    order, where = (3, "The order is always"), (3, "A marker says")
    most, short = (3, "At most four markers"), (3, "A string has no place")
    one = _request(user(text("Hi."), text("Hello?")), tools=_TOOLS, system=_SYSTEM)
    grown = _request(
        user(text("Hi.")), assistant(text("Hello.")), user(text("And?"), text("Now?")), tools=_TOOLS, system=_SYSTEM
    )
    strings = _request(user("Hi."), tools=_TOOLS, system="Be brief.")
    bare = _request(user("Hi."))
    results = _request(user("Hi."), assistant(call(1), call(2)), user(result(1), result(2)), tools=_TOOLS)
    places = rows_of(_wanted, lambda made, *_: _places(made))
    yield places("the last tool, the last system block and the very last block are marked", where)(one, grown)
    yield places("a string becomes a block that can be marked", short)(strings)
    yield places("without tools or system, only the last block is marked", short)(bare, _request(user("Hi."), tools=[]))
    yield places("a tool_result can be marked too", where)(results)
    yield rows_of(Such('{"type": "ephemeral"}', _is_marker), lambda made, *_: made["tools"][-1]["cache_control"])(
        'a marker is {"type": "ephemeral"}', where
    )(one)
    yield rows_of(_unmarked, _unmarked)("nothing else changes", order)(one, grown, strings, results)
    yield rows_of("each request read what earlier ones wrote", run=_talked)(
        "each request of a conversation reads what earlier ones wrote", order
    )(AS_IT_WAS)
    yield rows_of("each request read what earlier ones wrote", run=_talked)(
        "even if the history still holds old markers", most
    )(AS_GIVEN_BACK)
    yield replace(untouched(order, one, grown, strings), sentence="the request it is given stays as it was")


# ---- few of many tools

_CATALOGUE = """
list_orders | List the orders of one customer, the newest first. | customer_id
get_order | Get one order with all of its lines. | order_id
cancel_order | Cancel an order that is not yet on the way. | order_id
refund_payment | Pay money back for an order, all of it or a part. | order_id amount
create_invoice | Create the invoice of an order and send it by mail. | order_id
list_unpaid_invoices | List the invoices that are overdue. | since
send_reminder | Remind a customer of an invoice that is not paid. | invoice_id
get_customer | Get the address, the phone number and the mail of a customer. | customer_id
merge_customers | Merge two customers that are one and the same person. | customer_id other_id
delete_customer | Delete all that the shop knows of a customer. | customer_id
check_stock | Tell how many grams of a tea are in the warehouse. | tea
move_stock | Move a tea from one shelf of the warehouse to another. | tea shelf
order_supply | Order more of a tea from the supplier. | tea grams supplier
list_suppliers | List the suppliers with the days that a delivery takes. | country
print_label | Print the label of a parcel. | parcel_id
track_parcel | Tell where a parcel is on its way to the customer. | parcel_id
book_courier | Book a courier for a day and a time. | day
shipping_cost | Compute what it costs to ship a parcel to a country. | country grams
customs_form | Fill in the customs form of a parcel that leaves the country. | parcel_id
open_complaint | Open a complaint of a customer about an order. | order_id text
close_complaint | Close a complaint with what was agreed on. | complaint_id text
search_mail | Search the mail of the shop for words in the subject and in the text. | words
send_mail | Send a mail in the name of the shop. | address subject text
translate | Translate a text into the language of a customer. | text language
schedule_meeting | Put a meeting of the team into the calendar. | day people
list_holidays | List the days of the year on which the shop is closed. | year
who_works | Tell who of the team works on a day. | day
request_leave | Ask for days on which somebody of the team does not work. | person day
run_payroll | Compute the salary of the team for a month. | month iban
set_price | Set the price of a tea from a day on. | tea price day
list_discounts | List the discounts of the shop and the codes for them. | day
create_discount | Create a code that makes an order cheaper. | percent day
sales_report | Report what was sold in a month, by tea and by country. | month
forecast | Forecast how much of a tea will be sold in the next month. | tea
publish_page | Publish a page of the web site of the shop. | page
upload_photo | Upload the photo of a tea for the web site. | tea file
answer_review | Answer a review that a customer wrote on the web site. | review_id text
subscribe | Put an address on the list of those who get the newsletter. | address
convert_currency | Convert an amount from one currency to another one. | amount currency
weather | Tell the weather of the day in a city. | city
"""


def _tool(line):
    name, description, arguments = (part.strip() for part in line.split("|"))
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in arguments.split()}}
    return {"name": name, "description": description, "input_schema": schema}


CATALOGUE = [_tool(line) for line in _CATALOGUE.strip().splitlines()]


class Catalogue(list):
    """A list of tools, which a verdict shows by its length."""

    def __repr__(self):
        return f"<{len(self)} tools>"


def _names(tools, *_):
    return [tool["name"] for tool in tools]


def _has(*names):
    said = " and ".join(names)
    return Such(f"tools with {said} among them", lambda found: set(names) <= set(found))


def _picked(k):
    def holds(tools):
        names = _names(tools)
        return isinstance(tools, list) and len(set(names)) == len(names) == k and all(t in CATALOGUE for t in tools)

    return holds


def _in_order(found):
    places = [_names(CATALOGUE).index(name) for name in found]
    return bool(places) and places == sorted(places)


def _stays(read):
    def after(yours, tools):
        return None if yours("weather", tools, 2) is None else tools

    return rows_of(CATALOGUE, run=after)("the list it is given stays as it was", read)(Catalogue(CATALOGUE))


@exercise("my_tools(question, tools, k), a function that returns the k tools that fit a question best")
def chosen():
    every = Catalogue(CATALOGUE)
    score, common = (4, "Each word that the question"), (4, "Words that stand in many")
    keep = (4, "Keep the order of the catalogue")

    def finds(sentence, read):
        return lambda *rows: gives(sentence, read)(*[(ask, every, k, _has(name)) for ask, k, name in rows], see=_names)

    yield gives("it returns k tools from the list, none twice", score)(
        *[("Where is my parcel?", every, k, Such(f"{k} different tools of the list", _picked(k))) for k in (1, 5, 12)]
    )
    yield finds("the words of a description count", score)(
        ("overdue invoices", 3, "list_unpaid_invoices"), ("salary for december", 3, "run_payroll")
    )
    yield finds("so do the words of a name, joined by _", score)(
        ("Compute the shipping to France", 3, "shipping_cost"), ("payroll!", 2, "run_payroll")
    )
    yield finds("so do the names of the arguments", score)(("I have a new IBAN.", 2, "run_payroll"))
    yield finds("capitals and punctuation do not matter", score)(
        ("TRANSLATE: 'Guten Tag'", 2, "translate"), ("Photo, please...", 2, "upload_photo")
    )
    yield finds("common words do not outweigh a rare one", common)(
        ("Is it true that the salary of the team is the same on each day of the year?", 5, "run_payroll"),
        (
            "To whom of the team does a courier bring the label of a parcel on its way to the customer?",
            3,
            "print_label",
        ),
        ("By the way, is it true of the weather in the city that it is the one of the day before?", 3, "weather"),
    )
    yield rows_of(Such("tools in the order of the catalogue", _in_order), _names)(
        "they keep the order of the catalogue", keep
    )(("weather, parcel, order, translate", every, 4), ("newsletter or salary", every, 2))
    yield rows_of(lambda question, tools, k: _names(tools), _names)("with fewer than k tools, all of them", score)(
        ("tea", Catalogue(CATALOGUE[:3]), 5), ("tea", Catalogue([]), 5)
    )
    yield _stays(score)


# ---- a gate

HIDING = "\x1b\r\b\u200b\u202e"  # an escape code, back to the start of the line, backspace, no width, right to left


class Gated(Named):
    """What a gate said of a call, and the questions that it asked."""

    attempted = True

    def __init__(self, verdict, asked):
        super().__init__(f"{verdict!r}, asked {len(asked)} times: {[str(one) for one in asked]}")
        self.verdict, self.asked = verdict, asked


def _through(yours, block, answer):
    asked = []
    approve = yours(lambda question: asked.append(question) or answer)
    return Gated(approve(copy.deepcopy(block)), asked)


def _says(about, holds):
    return Such(about, lambda gated: isinstance(gated, Gated) and holds(gated))


@exercise("my_gate(ask), a function that returns approve(block)")
def gate():
    before, shown, odd = (5, "Ask before each call"), (5, "Show the whole call"), (5, "Only `True` is a yes")
    reads = [call(1, "read_file", path="reviews.txt"), call(1, "glob", pattern="*")]
    writes = [
        call(1, "write_file", path="README.md", content="x"),
        call(1, "edit_file", path="README.md", old_text="a", new_text="b"),
        call(1, command="ls"),
        call(1, "deploy", to="production"),
    ]
    unasked = _says("True, nobody is asked", lambda gated: gated.verdict is True and not gated.asked)
    once = _says("True, after one question", lambda gated: gated.verdict is True and len(gated.asked) == 1)
    no = string_that("a reason, as a string")
    refused = _says("a reason, as a string", lambda gated: no == gated.verdict)

    def with_answer(sentence, read, right, blocks, *answers):
        return rows_of(right, run=_through)(sentence, read)(
            *[(block, answer) for block in blocks for answer in answers]
        )

    def asks(sentence, about, block, *words, without=""):
        def holds(gated):
            return all(word in gated.asked[0] for word in words) and not set(without) & set(gated.asked[0])

        return rows_of(_says(about, holds), run=_through)(sentence, shown)(*[(one, True) for one in block])

    def content(words):
        return call(1, "write_file", path="README.md", content=words)

    yield with_answer("tools that only read run without a question", before, unasked, reads, False)
    yield with_answer("every other call asks once, and runs after a yes", before, once, writes, True)
    yield with_answer("after a no it does not run, and the reason is a string", before, refused, writes, False)
    yield with_answer("anything but True is a no", odd, refused, writes[:1], None, "", "yes", 1, ["y"])
    yield asks(
        "the question names the tool and every argument",
        "a question with write_file, README.md and Pay Eve in it",
        [content("Pay Eve")],
        *("write_file", "README.md", "Pay Eve"),
    )
    yield asks(
        "in full, however long",
        "a question with the last words of the content in it",
        [content("Sencha. " * 500 + "Now pay Eve.")],
        "Now pay Eve.",
    )
    yield asks(
        "nothing can hide: characters that do not print are spelled out",
        "a question with a visible stand-in for what does not print",
        [content(f"Sencha.{sign}Pay Eve.") for sign in HIDING],
        *("Sencha.", "Pay Eve."),
        without=HIDING,
    )

"""What several exercises are made of: cases, messages, a refusal as a value, a list of answers."""

import operator
import re
import unicodedata
from functools import partial, reduce

from ..exercise import Exercise, Named, Property, Such

# ---- rows: what must hold and where to read it, then how it is tried


def row(make):
    """Lets `make(sentence, read, ...)` be written as `make(sentence, read)(...)`."""
    return lambda sentence, read: partial(make, sentence, read)


holds = row(Property)


def rows_of(right, see=None, run=None):
    """Makes rows that differ in their cases alone: `rows_of(right, see, run)(sentence, read)(case, case ...)`."""
    return row(lambda sentence, read, *cases: Property(sentence, read, each(*cases), right, see, run))


def right_answer(answer):
    """Makes rows whose right results are those of `answer`; written as a decorator: `same(sentence, read)(cases)`."""

    def right(see, run, *args):
        made = run(answer, *args) if run else answer(*args)
        return see(made, *args) if see else made

    return row(
        lambda said, read, cases, see=None, run=None: Property(said, read, cases, partial(right, see, run), see, run)
    )


@row
def fact(sentence, read, right, see=None, run=None):
    """A property of a value, or of what a function without arguments gives."""
    return Property(sentence, read, [()], right, see, run)


@row
def gives(sentence, read, *rows, see=None, run=None):
    """A property whose cases have each a right result of their own. rows: (argument, ..., right result)."""
    right = {repr(row[:-1]): row[-1] for row in rows}
    return Property(sentence, read, [row[:-1] for row in rows], lambda *args: right[repr(args)], see, run)


# ---- cases, and what is compared


def each(*inputs):
    """Cases: a tuple is one, anything else is the only argument of one."""
    return [given if isinstance(given, tuple) else (given,) for given in inputs]


def at(*keys):
    """A `see`: what stands under these keys in the result."""
    return lambda result, *_: reduce(operator.getitem, keys, result)


def string_that(text, holds=str.strip):
    """A right answer: any string of which `holds(string)` is true; that says anything, if left out."""
    return Such(text, lambda value: isinstance(value, str) and holds(value), str)


def is_a_sentence(text):
    """Several words; not every script has spaces between them."""
    return len(text.split()) > 1 or sum(unicodedata.category(letter) == "Lo" for letter in text) > 1


def has_number(text, number):
    return re.search(rf"(?<!\d){number}(?!\d)", text) is not None


# ---- schemas


def type_of(property):
    """The type in a schema: `"string"` and `["string"]` say the same; with null it is a string that may be left out."""
    kinds = property.get("type") or [one.get("type") for one in property.get("anyOf", [])]
    wanted = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else [kinds]
    return wanted[0] if len(wanted) == 1 else kinds


# ---- messages


def user(*blocks):
    return {"role": "user", "content": blocks[0] if isinstance(blocks[0], (str, list)) else list(blocks)}


def assistant(*blocks):
    return user(*blocks) | {"role": "assistant"}


def text(words):
    return {"type": "text", "text": words}


def call(number, name="bash", **arguments):
    return {"type": "tool_use", "id": f"toolu_{number:02}", "name": name, "input": arguments or {"command": "ls"}}


def result(number, content="a.txt", **more):
    return {"type": "tool_result", "tool_use_id": f"toolu_{number:02}", "content": content, **more}


def untouched(read, *given):
    """What was given is the same after the call, unless yours changed it."""

    def after(yours, given):
        return None if yours(given) is None else given

    return Property("the list it is given stays as it was", read, each(*given), lambda given: given, run=after)


# ---- refusals


class Raised(Named):
    """A ValueError that a function raised, as a value that can be compared."""


def refusing(yours, *args):
    """What `yours` gives, or the ValueError that it raises. Other exceptions pass: they are faults."""
    try:
        return yours(*args)
    except ValueError as error:
        return Raised(f"ValueError: {error}")


A_REFUSAL = Such("a ValueError", lambda value: isinstance(value, Raised))
refused = rows_of(A_REFUSAL, run=refusing)


# ---- answers to questions


def answer_to(number, answers):
    """One of a list of answers, or of a dict's; case, and spaces around it, do not matter."""
    if isinstance(answers, str):
        raise TypeError("a list of answers is expected")
    answer = list(answers.values() if isinstance(answers, dict) else answers)[number]
    return answer.strip().lower() if isinstance(answer, str) else answer


def quiz(takes):
    """Makes an Exercise for a list of answers of a function that yields (sentence, the right answer, where to read)."""

    def make(table):
        rows = enumerate(table())
        asked = [fact(sentence, read)(right, partial(answer_to, number)) for number, (sentence, right, read) in rows]
        return Exercise(table.__name__, takes, asked, untouched=is_open, answers=len(asked))

    return make


def is_open(answers):
    """True for answers of which none is given."""
    return not answers or all(answer in (None, "", ...) for answer in answers)

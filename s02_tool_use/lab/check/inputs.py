"""Calls made from a tool's schema, for the lint to try: hypothesis makes them, and makes a failing one smaller.

What is made up is harmless, for nobody knows what a tool does with it. No string leads out of the folder or means
something to a shell, no command is made up, and no address is another machine's. What the schema itself lists, such as
an enum, is taken as it stands.

hypothesis-jsonschema was looked at: its last release breaks with today's hypothesis. Left out: `not`, `if`,
`dependentSchemas` and their like, which only sort out what was made without them.
"""

import contextlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..api.schemas import load_jsonschema
from ..understudy.values import MADE_UP, kind_of

# Letters of several alphabets, and what trips a pattern, a query or a parser up. The simplest come first.
LETTERS = "ab 01xyzABZ.,-_:()[]{}*+?%='\"\n\täßéжإ世界🍵"
HARMLESS = re.compile(r"(?!/|[a-z]:)(?!.*\.\.)[^\\~$`;&|<>!\0]*", re.I | re.S)
EMPTY, MISSING = "", ["no_such_file.txt", "no_such_folder/a.txt"]
TEXTS = ["tea", "water", EMPTY, "0", "O'Brien", "Grüße, 世界 🍵", "two\nlines", " ", "(", "green tea " * 500]
COMMANDS = ["echo hello", "exit 3", "cat no_such_file.txt", EMPTY]
OTHERS = ["2024-02-29", "1999-12-31", "2030-01-01T00:00:00Z", "23:59:59Z", "P1Y"]  # of several formats
# What an argument is called, or how it is described -> what it is likely to hold.
LIKELY: list[tuple[str, list[str]]] = [
    (r"url|uri|endpoint|website|网址|链接", ["http://127.0.0.1:9/", "tea", EMPTY]),
    (r"host|hostname|domain", ["127.0.0.1", "tea", EMPTY]),
    (r"email|mail", ["a@example.com", "tea", EMPTY]),
    (r"date|日期", ["2024-02-29", "2023-02-29", "tomorrow", EMPTY]),
    (r"time|时间", ["12:00", "25:61", "2024-02-29T12:00:00Z", EMPTY]),
    (r"sql|query|statement|查询", ["SELECT 1", "SELECT * FROM no_such_table", "SELEC", "tea", EMPTY]),
    (r"regex|pattern|glob|模式", ["*.py", "tea", "(", "[", "*", "^a.*b", EMPTY]),
    (r"expr|expression|formula|calculation|算式|表达式", ["1 + 2", "1 / 0", "2 **", "(", "tea", EMPTY]),
    (r"json", ['{"tea": 1}', "[]", "{", EMPTY]),
    (r"digits|amount", ["12", "0", "-1", "1.5", "tea", EMPTY]),
]
FILES = re.compile(r"path|paths|file|files|filename|folder|dir|directory|路径|文件|文件夹|目录")
FILE_FIRST = re.compile(r"(?:the |a )?(?:relative )?(?:path|file|folder|name of (?:a|the) file)\b|路径|文件", re.I)
SHELL = re.compile(r"bash|sh|zsh|shell|command|commands|terminal|powershell|subprocess|命令|终端")
PROGRAM = re.compile(rf"{SHELL.pattern}|cmd|script|exec|execute|eval|python|code|program|脚本|执行|代码")
WORD = re.compile(r"[A-Za-z]+|[\u3400-\u9fff]+")
QUOTED = re.compile(r"[`\"“「]([^`\"”」]{1,60})[`\"”」]|(?<!\w)'([^'\n]{1,60})'(?!\w)")
EXAMPLE = re.compile(r"(?:such as|like|e\.g\.,?|for example|例如|比如)[:：]?\s*([^.;()。；]{1,80})", re.I)
INTEGERS = [0, 1, -1, 2, 7, 1000, -1000, 1_000_000, -1_000_000]
PROCESS, NO_PROCESS = re.compile(r"pid|process|进程"), 999_999_999  # a number that none has: others would be ended
NUMBERS: list[float] = [0, 1, -1, 0.5, -0.5, 2, 1000, 1e-6, 1e6]
MOST_ITEMS, MOST_CHARACTERS, MAX_DEPTH = 3, 100_000, 5


def words_of(text: str) -> list[str]:
    """The words of a name or a sentence, in small letters: of `file_name` and `fileName` they are file and name."""
    return [word.lower() for word in WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text))]


def speaks_of(pattern: re.Pattern | str, text: str) -> bool:
    """Whether one of the words of `text` is one of the pattern's; Chinese ones stand in the midst of others."""
    return any(
        re.fullmatch(pattern, word) or (not word.isascii() and re.search(pattern, word)) for word in words_of(text)
    )


def named_in(text: str) -> list[str]:
    """The values that a description names: what stands in quotes, and what follows `such as`."""
    named = [match[1] or match[2] for match in QUOTED.finditer(text)]
    for match in EXAMPLE.finditer(text):
        named += [match[1], *re.split(r"[,、，]\s*(?:and |or )?| and | or |和|或", match[1])]
    return [word for word in (word.strip(" `\"'“”「」") for word in named) if word]


class Inputs:
    """The calls that fit one schema. `about` is what the tool says of itself, `files` are names in its workspace."""

    def __init__(self, schema: dict[str, Any], about: str = "", files: tuple[str, ...] = ()) -> None:
        from hypothesis import strategies

        self.st: Any = strategies
        self.schema, self.about, self.files, self.shell = schema, about, list(files), speaks_of(SHELL, about)
        validator = load_jsonschema().Draft202012Validator
        from referencing import Registry  # jsonschema has imported it; an empty one fetches nothing

        self.judge = validator(schema, format_checker=validator.FORMAT_CHECKER, registry=Registry())
        self._known: dict[tuple[str, str], Any] = {}  # what a $ref leads to: it may lead to itself

    def fit(self, value: object, schema: Any = None) -> bool:
        """Whether a value is what the schema, or a part of it, asks for."""
        try:
            judge = self.judge if schema is None else self.judge.evolve(schema=schema)
            return bool(judge.is_valid(value))
        except Exception:  # a $ref that leads nowhere, a pattern that Python does not know
            return False

    def has_type(self, schema: Any) -> bool:
        """Whether a part of the schema refuses anything: a type, a list of values."""
        schema = self.resolved(schema)
        return bool(schema.keys() & {"type", "enum", "const", "anyOf", "oneOf", "not"})

    def calls(self) -> Any:
        """A strategy for them."""
        return self._made("", self.schema).filter(lambda call: isinstance(call, dict) and self.fit(call))

    def one_by_one(self, base: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """`base` with one argument changed to each value that is likely for it, or left out."""
        for name, schema in properties_of(self.schema).items():
            candidates = [{**base, name: value} for value in self.likely(name, schema)]
            yield from filter(self.fit, [*candidates, {key: base[key] for key in base if key != name}])

    def likely(self, name: str, schema: Any, depth: int = 0) -> list[Any]:
        """Values that a model may well send: what the schema and its sentence name, files, numbers at bounds."""
        schema = self.resolved(schema)
        if depth > MAX_DEPTH:  # it asks for itself
            return []
        options = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(options, list):
            return [
                value
                for option in options
                for value in self.likely(name, {**_rest(schema), **_dict(option)}, depth + 1)
            ]
        values = [schema["const"]] if "const" in schema else list(schema.get("enum") or [])
        if not values:
            kinds = schema.get("type")
            for kind in kinds if isinstance(kinds, list) else [kind_of(schema)]:
                values += getattr(self, f"_{kind}s", lambda *_: [])(name, schema, depth)
        return [value for value in values if self.fit(value, schema)]

    # ---- what is likely, by type

    def _is_command(self, name, schema):
        """Whether a string is for a shell, or for another program that runs it."""
        return speaks_of(PROGRAM, _told(name, schema)) or (self.shell and not speaks_of(FILES, name))

    def _strings(self, name, schema, depth):
        own = [schema.get("default"), *(schema.get("examples") or [])]
        said = [word for text in (schema.get("description"), self.about) if text for word in named_in(text)]
        if self._is_command(name, schema):
            return COMMANDS  # what an example does as a command is not known either
        if schema.get("format") in MADE_UP:
            made = MADE_UP[schema["format"]] if schema["format"] != "uri" else "http://127.0.0.1:9/"
            likely = [made, *OTHERS]  # of them those that fit
        elif speaks_of(FILES, name) or FILE_FIRST.match(schema.get("description") or ""):
            likely = [*self.files, *MISSING, EMPTY]
        else:
            # The name says more than its description.
            places = (name, _told(name, schema))
            named = [texts for place in places for words, texts in LIKELY if speaks_of(words, place)]
            likely = [*(named[0] if named else []), *TEXTS]
        chosen = [*own, *said, *likely]
        return [text for text in dict.fromkeys(filter(_is_text, chosen)) if HARMLESS.fullmatch(text)]

    def _integers(self, name, schema, depth):
        if speaks_of(PROCESS, _told(name, schema)):
            return [NO_PROCESS]
        low, high, step = _bounds(schema)
        own = [schema.get("default"), *(schema.get("examples") or []), low, high, step]
        return _numbers([value for value in own if _is_number(value) and value == int(value)] + INTEGERS, int)

    def _numbers(self, name, schema, depth):
        own = [schema.get("default"), *(schema.get("examples") or []), *_bounds(schema)]
        return _numbers([value for value in own if _is_number(value)] + NUMBERS, lambda value: value)

    def _booleans(self, name, schema, depth):
        return [False, True]

    def _nulls(self, name, schema, depth):
        return [None]

    def _arrays(self, name, schema, depth):
        items = self.likely(name, schema.get("items", {}), depth + 1)[:MOST_ITEMS]
        return [*(schema.get("examples") or []), items, items[:1], [], items + items]

    def _objects(self, name, schema, depth):
        return [*(schema.get("examples") or []), {}]

    # ---- strategies

    def _made(self, name: str, schema: Any) -> Any:
        """A strategy for what a part of the schema asks for."""
        st = self.st
        if schema is False:
            return st.nothing()
        if isinstance(schema, dict) and isinstance(reference := schema.get("$ref"), str):
            known = (reference, name)
            if known not in self._known:
                self._known[known] = st.deferred(lambda: self._known[known])
                self._known[known] = self._made(name, self.resolved(schema))
            return self._known[known]
        schema = self.resolved(schema)
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list):
                rest = {key: value for key, value in schema.items() if key != word}
                return st.one_of([self._made(name, {**rest, **_dict(option)}) for option in schema[word]])
        if "const" in schema or "enum" in schema:
            return st.sampled_from([schema["const"]] if "const" in schema else schema["enum"])
        if not schema.keys() - {"description", "title", "default", "examples"}:  # anything will do
            return st.sampled_from(["tea", 1, True, [], {}])
        kinds = schema.get("type")
        makers = {"object": self._object, "array": self._array, "string": self._string}
        makers |= {"integer": partial(self._number, whole=True), "number": partial(self._number, whole=False)}
        makers |= {"boolean": lambda *_: st.booleans(), "null": lambda *_: st.none()}
        return st.one_of(
            [
                makers[kind](name, schema)
                for kind in (kinds if isinstance(kinds, list) else [kinds or _guess(schema)])
                if kind in makers
            ]
        )

    def _object(self, name, schema):
        st, own = self.st, properties_of(schema)
        needed = [key for key in schema.get("required") or () if isinstance(key, str)]
        made = {key: self._made(key, own.get(key, True)) for key in {**own, **dict.fromkeys(needed)}}
        optional = {key: made[key] for key in made if key not in needed}
        fixed = st.fixed_dictionaries({key: made[key] for key in needed}, optional=optional)
        if own or needed or name == "":
            return fixed
        least, most = schema.get("minProperties", 0), schema.get("maxProperties", MOST_ITEMS)
        keys = st.sampled_from(["tea", "a", "key 1", *map(str, range(least))])
        others = self._made(name, schema.get("additionalProperties", True))
        return st.dictionaries(keys, others, min_size=least, max_size=max(least, min(most, MOST_ITEMS)))

    def _array(self, name, schema):
        st, first = self.st, schema.get("prefixItems") or []
        items = self._made(name, schema.get("items", True))
        least = max(0, schema.get("minItems", 0) - len(first))
        most = max(least, min(schema.get("maxItems", MOST_ITEMS) - len(first), least + MOST_ITEMS))
        unique = (lambda value: json.dumps(value, sort_keys=True)) if schema.get("uniqueItems") else None
        rest = st.lists(items, min_size=least, max_size=most, unique_by=unique)
        return st.tuples(st.tuples(*[self._made(name, one) for one in first]), rest).map(lambda v: [*v[0], *v[1]])

    def _string(self, name, schema):
        st, likely = self.st, self.likely(name, {**schema, "type": "string"})
        chosen = [st.sampled_from(likely)] if likely else []
        if self._is_command(name, schema) and (chosen or "pattern" not in schema):  # a postcode is called code too
            return st.one_of(chosen)
        if isinstance(pattern := schema.get("pattern"), str):
            try:  # `$` of Python lets a line end pass, JSON Schema's does not
                made = st.from_regex(re.compile(pattern, re.ASCII)).filter(lambda text: text.isprintable())
            except re.error:  # JSON Schema's patterns are JavaScript's
                made = st.nothing()
            made = made.filter(HARMLESS.fullmatch)
        elif "format" in schema and chosen:
            return chosen[0]
        else:
            least = schema.get("minLength", 0)
            most = max(least, min(schema.get("maxLength", least + 12), least + 12))
            letters = st.lists(st.sampled_from(LETTERS), min_size=least, max_size=most)
            made = letters.map("".join).filter(HARMLESS.fullmatch)
        return st.one_of(made, *chosen)

    def _number(self, name, schema, whole):
        st, likely = self.st, self.likely(name, {**schema, "type": "integer" if whole else "number"})
        if speaks_of(PROCESS, _told(name, schema)):
            return st.sampled_from(likely) if likely else st.nothing()
        low, high, step = _bounds(schema)
        low, high = (-1000 if low is None else low), (1000 if high is None else high)
        low, high = min(low, high), max(low, high)
        size = step or (1 if whole else 0.125)
        steps = st.integers(-int(-low // size), max(int(high // size), -int(-low // size)))
        made = steps.map(lambda number: int(number * size) if whole else number * size)
        return st.one_of(made, st.sampled_from(likely)) if likely else made

    def resolved(self, schema: Any) -> dict[str, Any]:
        """A part of the schema with what it refers to, and all that it is to be at once, in one dict."""
        schema = _dict(schema)
        for _ in range(20):  # a $ref may lead to itself
            if isinstance(reference := schema.get("$ref"), str):
                rest = {key: value for key, value in schema.items() if key != "$ref"}
                schema = {**_at(self.schema, reference), **rest}
            elif isinstance(parts := schema.get("allOf"), list):
                schema = _merged([{key: value for key, value in schema.items() if key != "allOf"}, *map(_dict, parts)])
            else:
                break
        return schema


def properties_of(schema: Any) -> dict[str, Any]:
    """What stands under `properties`, if it is a dict."""
    return _dict(_dict(schema).get("properties"))


def _told(name, schema):
    return f"{name} {schema.get('description', '')}"


def _dict(value):
    return value if isinstance(value, dict) else {}


def _rest(schema):
    return {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}


def _at(schema, reference):
    """What `#/$defs/Order` leads to."""
    part = schema
    for key in reference.removeprefix("#").split("/")[1:]:
        part = _dict(part).get(key.replace("~1", "/").replace("~0", "~"))
    return _dict(part) if reference.startswith("#") else {}


def _merged(parts):
    whole = {}
    for part in parts:
        both = {**whole, **part}
        both["properties"] = {**_dict(whole.get("properties")), **_dict(part.get("properties"))}
        both["required"] = [*(whole.get("required") or []), *(part.get("required") or [])]
        whole = {key: value for key, value in both.items() if value not in ({}, []) or key in part}
    return whole


def _guess(schema):
    """The type that a schema means that says none."""
    if schema.keys() & {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}:
        return "number"
    if schema.keys() & {"items", "prefixItems", "minItems", "maxItems"}:
        return "array"
    return "object" if schema.keys() & {"properties", "required", "additionalProperties"} else "string"


def _bounds(schema):
    """(lowest, highest, step), each None if the schema does not say it."""
    low, high = (
        schema.get("minimum", schema.get("exclusiveMinimum")),
        schema.get("maximum", schema.get("exclusiveMaximum")),
    )
    return low, high, schema.get("multipleOf")


def _is_text(value):
    return isinstance(value, str)


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _numbers(values, kind):
    return list(dict.fromkeys(map(kind, values)))


def explore(strategy: Any, wanted: Callable[[Any], object], count: int) -> Any:
    """Call `wanted` with up to `count` values; once it has said yes, with smaller ones, and give the smallest wanted.

    None if nothing was wanted. The same values in each run. Nothing is printed or kept.
    """
    from hypothesis import HealthCheck, Phase, Verbosity, configuration, errors, given, settings

    class Found(Exception):
        pass

    found = [None]

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
        backend="hypothesis",
    )
    @given(strategy)
    def test(value):
        if len(json.dumps(value)) <= MOST_CHARACTERS and wanted(value):
            found[0] = value
            raise Found

    before = getattr(configuration, "__hypothesis_home_directory", None)
    with tempfile.TemporaryDirectory(prefix="check-", ignore_cleanup_errors=True) as home:
        configuration.set_hypothesis_home_dir(home)  # its tables of letters: not into the reader's folder
        try:
            # Nothing can be made, or not the same twice: what `wanted` has seen until then still counts.
            with contextlib.suppress(Found, errors.HypothesisException):
                test()
        finally:
            configuration.set_hypothesis_home_dir(before)
    return found[0]

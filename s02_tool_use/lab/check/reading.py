"""What can be read of a tool: its description, measured, and whether its schema and its function say the same.

The API's guide to tools asks for what a tool does, when to use it, what comes back, and what each argument means: a
model chooses by that, for it sees nothing else. English and Chinese are looked through for certain words; of any other
language only the length is known. Left out: whether it is true.
"""

import inspect
import re
import typing
from collections.abc import Callable, Iterator
from typing import Any

from .inputs import properties_of

# Scripts without spaces between words. Two characters count as a word.
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
FEW_WORDS, MANY_WORDS = 4, 20
USE = re.compile(
    r"\b(?:use[ds]?|using|useful|when(?:ever)?|if|before|after|instead|unless|until|only|prefer|calls?|must|never|always"
    r"|need(?:s|ed)?|want(?:s|ed)?|ask(?:s|ed)?|suitable|meant|intended|helps?|rather|cannot|not|no|nothing|\w+n['’]t"
    r"|refus\w+|at (?:most|least)|up to|limit\w*|so that|in order to)\b|(?:^|[.;:!?\n]\s*)(?:for|to)\b"
    r"|[当當时時若仅僅只须須必]|用于|用於|用来|用來|如果|需要|适[用合]|適[用合]|不[能要会會]|最多|使用|之前|之后|想",
    re.I,
)
BACK = re.compile(
    r"\b(?:returns?|returned|gives?|answers?|results?|outputs?|respon\w+|repl(?:y|ies)|says?|reports?|yields?|tells?"
    r"|shows?|lists?|prints?|produces?|comes? (?:back|at|as)|comes|back)\b"
    r"|返回|回传|回傳|传回|傳回|结果|結果|输出|輸出|给出|給出|得到|列出|显示|顯示|回答|答复|告诉|告訴",
    re.I,
)
ENGLISH = re.compile(r"\b(?:an?|and|are|as|be|by|for|from|if|in|is|it|of|on|or|that|the|this|to|with)\b", re.I)
HAN = re.compile(r"[\u3400-\u9fff]")
KANA = re.compile(r"[\u3040-\u30ff]")


def words(text: str) -> list[str]:
    """The words in small letters, those of `file_name` and `fileName` apart; two characters of Chinese are one."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    spaced = WORD.findall(UNSPACED.sub(" ", apart).lower())
    unspaced = "".join(UNSPACED.findall(text))
    return spaced + [unspaced[at : at + 2] for at in range(0, len(unspaced), 2)]


def says_more(text: str, name: str, least: int) -> bool:
    """Whether a text has so many words that are not those of a name; `counts` is the same as `count`."""
    stems = {_stem(word) for word in words(name)}
    return len([word for word in words(text) if _stem(word) not in stems]) >= least


def _stem(word):
    return re.sub(r"(?:ing|es|ed|s|e)$", "", word) or word


def says(pattern: re.Pattern, text: str) -> bool:
    """Whether a text has one of the words of USE or BACK, or is long and in a language that is not known here."""
    known = len(ENGLISH.findall(text)) * 6 >= len(words(text)) or (HAN.search(text) and not KANA.search(text))
    return bool(pattern.search(text)) or (not known and len(words(text)) >= MANY_WORDS)


def undescribed(properties: dict[str, Any], resolved: Callable, description: str) -> Iterator[str]:
    """One sentence for each argument that neither has a description nor is named in the tool's."""
    for name, schema in properties.items():
        own = resolved(schema).get("description") or ""
        if not isinstance(own, str) or not own.strip():
            if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", description):
                yield f"{name} has no description"
        elif words(own) == words(name):
            yield f"the description of {name} says no more than its name: {own!r}"


# ---- schema and signature

SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def disagreements(schema: Any, function: Callable | None) -> Iterator[str]:
    """One sentence for each place where a schema and the parameters of its function say two things."""
    offered = properties_of(schema)
    listed = schema.get("required") if isinstance(schema, dict) else None
    required = listed if isinstance(listed, list) else []
    yield from (f"`required` has {name!r}, which is not in `properties`" for name in required if name not in offered)
    try:
        parameters = list(inspect.signature(function).parameters.values()) if function else None
    except (TypeError, ValueError):  # some that are written in C have none
        parameters = None
    if parameters is None or not isinstance(schema, dict):
        return
    named = {p.name: p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    placed = {p.name for p in parameters if p.kind is p.POSITIONAL_ONLY}
    yield from (f"the function takes {name} by position only, and a call names its arguments" for name in placed)
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        unknown = [name for name in offered if name not in named and name not in placed]
        yield from (f"the schema offers {name}, which the function does not take" for name in unknown)
    kinds = _kinds_of(function)
    for name, parameter in named.items():
        optional = parameter.default is not parameter.empty
        if name not in offered and not optional:
            yield f"the function needs {name}, which the schema does not offer"
        elif name in offered and not optional and name not in required:
            yield f"the function needs {name}, so it must be in `required`"
        elif optional and name in required:
            yield f"{name} has a default, so it need not be in `required`"
        kind, wanted = kinds.get(name), offered[name].get("type") if isinstance(offered.get(name), dict) else None
        if kind and isinstance(wanted, str) and wanted != SIMPLE[kind] and (wanted, kind) != ("integer", float):
            yield f"{name} is of type {wanted} in the schema, and {kind.__name__} in the function"


def _kinds_of(function):
    """Parameter -> its type, where that is a plain one."""
    try:
        hints = typing.get_type_hints(inspect.unwrap(function))
    except Exception:  # no function, or an annotation that cannot be resolved
        return {}
    return {name: hint for name, hint in hints.items() if isinstance(hint, type) and hint in SIMPLE}

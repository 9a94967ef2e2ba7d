"""What a tool says of itself, measured: what it does, when to use it, what comes back, and what each argument means.

These are what the API's guide to defining tools asks for. A model chooses by them, for it sees nothing else. English
and Chinese are looked through for certain words; of any other language only the length is known. Left out: whether it
is true.
"""

import re
from collections.abc import Iterator
from typing import Any

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


def faults_of_the_arguments(properties: dict[str, Any], resolve: Any, description: str) -> Iterator[str]:
    """One sentence for each argument that neither has a description nor is named in the tool's."""
    for name, schema in properties.items():
        own = resolve(schema).get("description") or ""
        if not isinstance(own, str) or not own.strip():
            if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", description):
                yield f"{name} has no description"
        elif words(own) == words(name):
            yield f"the description of {name} says no more than its name: {own!r}"

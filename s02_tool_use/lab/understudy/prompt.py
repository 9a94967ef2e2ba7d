"""What stands in a prompt: its parts, the file names and quotations in it, the language to answer in."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .toolbox import Toolbox

LOOKED_AT = 2000  # characters in which patterns look for what is asked; what comes after is text to be written
# Where a request ends and a second one begins: "write a.txt with the text hi, then read it".
THEN = re.compile(r"\band then\b|\bafter that\b|(?<!and )\bthen\b|然后|接着|再(?=[读看运查写列改])", re.I)
AND = re.compile(r"\s+and\s+(?!then\b)|\s*(?:并且|以及|同时|和)\s*", re.I)  # it ends a request only now and then
QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|『([^』]+)』|(?<!\w)'([^'\n]+)'(?!\w)|‘([^’]+)’")
# A file name with an ending, perhaps in folders. Chinese letters may stand close around it, so \w and \b will not do.
PATH = re.compile(
    r"(?<![A-Za-z0-9_À-ɏ./:@*-])(?:[A-Za-z0-9_À-ɏ.*-]+/)*[A-Za-z0-9_À-ɏ*-][A-Za-z0-9_À-ɏ.*-]*\.[A-Za-z][A-Za-z0-9]{0,7}"
    r"(?![A-Za-z0-9_/(])"
)
# One in any script, if it stands alone.
ANY_SCRIPT = re.compile(r"(?:^|(?<=\s))([^\s，。；、：！？\"'`“”‘’]+\.[A-Za-z]\w{0,7})(?=[\s，。；、？]|$)")
BARE_NAMES = re.compile(r"(?<![A-Za-z0-9_./])(README|LICENSE|Makefile|Dockerfile|\.env|\.gitignore)(?![A-Za-z0-9_.])")


class Speaker:
    """Who answers a prompt: in Chinese, if `zh`, or in English."""

    zh: bool

    def t(self, en: str, zh: str) -> str:
        """The one of two texts that is in the language of the prompt."""
        return zh if self.zh else en


class Clause(Speaker):
    """One thing that was asked for: its words, the tools, and the language in which to answer."""

    def __init__(self, text: str, tools: "Toolbox", zh: bool, known_paths: Sequence[str] = ()):
        self.text, self.tools, self.zh = text.strip(" \n\t,;，；。"), tools, zh
        self.paths = paths_in(text)
        # "then read it": the file that was spoken of last.
        self.paths_or_known = self.paths or list(known_paths)[-1:]

    def has(self, pattern: str) -> re.Match | None:
        """The first place where a pattern stands in the clause, or None."""
        return re.search(pattern, self.text[:LOOKED_AT], re.I | re.S)


def quoted(text: str) -> list[str]:
    """The texts between quotation marks or backticks."""
    return [next(filter(None, groups)) for groups in QUOTED.findall(text)]


def paths_in(text: str) -> list[str]:
    """The file names in a text, each once, in order: README.md, data/orders.csv, `名单.txt`."""
    plain = [*PATH.finditer(text), *BARE_NAMES.finditer(text)]
    found = [(match.start(), match[0]) for match in plain if not match[0].lower().startswith(("e.g", "i.e"))]
    for match in (*QUOTED.finditer(text), *ANY_SCRIPT.finditer(text)):
        name = next(filter(None, match.groups()))
        if re.fullmatch(r"[^\s/]\S*\.[A-Za-z]\w{0,7}", name) and not any(path in name for _, path in found):
            found.append((match.start(), name))
    return list(dict.fromkeys(path.removeprefix("./") for _, path in sorted(found)))


def speaks_chinese(text: str) -> bool:
    """True if the first letter outside names and quotations is a Chinese one."""
    letters = re.search(r"[^\W\d_]", PATH.sub(" ", QUOTED.sub(" ", text)))
    return bool(letters and "\u4e00" <= letters[0] <= "\u9fff")


def cut_up(text: str) -> list[str]:
    """The parts of a text and what stands between them, [part, between, part, ...]; never cut inside quotations."""
    held: list[str] = []

    def hold(match):
        held.append(match[0])
        return f"\0{len(held) - 1}\0"

    parts = re.split(f"({THEN.pattern}|{AND.pattern})", QUOTED.sub(hold, text[:LOOKED_AT]), flags=re.I)
    parts = [re.sub("\0(\\d+)\0", lambda match: held[int(match[1])], part) for part in parts]
    return [*parts[:-1], parts[-1] + text[LOOKED_AT:]]

"""What stands in a prompt: its parts, the file names and quotations in it, the language to answer in."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .toolbox import Toolbox

LOOKED_AT = 2000  # characters in which patterns look for what is asked; what comes after is text to be written
# Where a request ends and a second one begins: "write a.txt with the text hi, then read it".
THEN = r"\band then\b|\bafter that\b|(?<!and )\bthen\b|然后|接着|再(?=[读看运查写列改])"
AND = re.compile(r"\s+and\s+(?!then\b)|\s*(?:并且|以及|同时|和)\s*", re.I)  # it ends a request only now and then
QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|『([^』]+)』|(?<!\w)'([^'\n]+)'(?!\w)|‘([^’]+)’")
CUT = re.compile(rf"{QUOTED.pattern}|(?P<cut>{THEN}|{AND.pattern})", re.I)
# A file name with an ending, perhaps in folders. Chinese letters may stand close around it, so \w and \b will not do.
PATH = re.compile(
    r"(?<![A-Za-z0-9_À-ɏ./:@*-])(?:[A-Za-z0-9_À-ɏ.*-]+/)*[A-Za-z0-9_À-ɏ*-][A-Za-z0-9_À-ɏ.*-]*\.[A-Za-z][A-Za-z0-9]{0,7}"
    r"(?![A-Za-z0-9_/(])"
    r"|(?<![A-Za-z0-9_./])(?:README|LICENSE|Makefile|Dockerfile|\.env|\.gitignore)(?![A-Za-z0-9_.])"
)
# One in any script, if it stands alone.
ANY_SCRIPT = re.compile(r"(?:^|(?<=\s))([^\s，。；、：！？\"'`“”‘’]+\.[A-Za-z]\w{0,7})(?=[\s，。；、？]|$)")


class Clause:
    """Something that was asked for: its words, the tools, and whether the answer is to be in Chinese.

    `quoted` is what stands between quotation marks or backticks, `paths` are the files that it names, `paths_or_known`
    those or, as in "then read it", the one that was spoken of last.
    """

    def __init__(self, text: str, tools: "Toolbox", known_paths: list[str], zh: bool | None = None):
        self.raw, self.text, self.tools = text, text.strip(" \n\t,;，；。"), tools
        self.zh = speaks_chinese(text) if zh is None else zh
        self.quoted = [match[match.lastindex or 0] for match in QUOTED.finditer(text)]
        self.paths, self.known_paths = paths_in(text), known_paths
        self.paths_or_known = self.paths or known_paths[-1:]

    def but(self, text: str, known_paths: list[str] | None = None) -> "Clause":
        """The same with other words, and perhaps with other files that were spoken of before."""
        return Clause(text, self.tools, self.known_paths if known_paths is None else known_paths, self.zh)

    def t(self, en: str, zh: str) -> str:
        """The one of two texts that is in the language of the prompt."""
        return zh if self.zh else en

    def has(self, pattern: str) -> re.Match | None:
        """The first place where a pattern stands in the clause, or None."""
        return re.search(pattern, self.text[:LOOKED_AT], re.I | re.S)


def paths_in(text: str) -> list[str]:
    """The file names in a string, each once, in order: README.md, data/orders.csv, `名单.txt`."""
    found = [
        (match.start(), match[0]) for match in PATH.finditer(text) if not match[0].lower().startswith(("e.g", "i.e"))
    ]
    for match in (*QUOTED.finditer(text), *ANY_SCRIPT.finditer(text)):
        name = match[match.lastindex or 0]
        if re.fullmatch(r"[^\s/]\S*\.[A-Za-z]\w{0,7}", name) and not any(path in name for _, path in found):
            found.append((match.start(), name))
    return list(dict.fromkeys(path.removeprefix("./") for _, path in sorted(found)))


def speaks_chinese(text: str) -> bool:
    """True if the first letter outside names and quotations is a Chinese one."""
    letters = re.search(r"[^\W\d_]", PATH.sub(" ", QUOTED.sub(" ", text)))
    return bool(letters and "\u4e00" <= letters[0] <= "\u9fff")


def cut_up(text: str) -> list[str]:
    """The parts of a string and what stands between them, [part, between, part, ...]; never cut inside quotations."""
    parts, start = [], 0
    for match in CUT.finditer(text, 0, LOOKED_AT):
        if match["cut"]:
            parts += [text[start : match.start()], match[0]]
            start = match.end()
    return [*parts, text[start:]]

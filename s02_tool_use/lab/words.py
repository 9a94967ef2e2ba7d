"""What stands in a prompt: its parts, the file names and quotations in it, the language to answer in."""

import re

# Where a request ends and a second one begins: "write a.txt with the text hi, then read it".
THEN = re.compile(
    r"\s*[,;，；。]?\s*(?:\band then\b|\bafter that\b|(?<!and )\bthen\b|然后|接着|再(?=[读看运查写列改]))\s*,?\s*", re.I
)
QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|『([^』]+)』|(?<!\w)'([^'\n]+)'(?!\w)|‘([^’]+)’")
PATH = re.compile(
    r"(?<![\w./:@])(?:[A-Za-z0-9_À-ɏ.*-]+/)*[A-Za-z0-9_À-ɏ*-][A-Za-z0-9_À-ɏ.*-]*\.[A-Za-z][A-Za-z0-9]{0,7}\b(?![/(])"
)
BARE_NAMES = re.compile(r"\b(README|LICENSE|Makefile|Dockerfile|\.env|\.gitignore)\b(?!\.)")


class Clause:
    """One thing that was asked for: its words, the tools, and the language in which to answer."""

    def __init__(self, text, tools, zh, known_paths=()):
        self.text, self.tools, self.zh = text.strip(), tools, zh
        self.paths = paths_in(text)
        # "then read it": the file that was spoken of last.
        self.paths_or_known = self.paths or list(known_paths)[-1:]

    def t(self, en, zh):
        return zh if self.zh else en

    def has(self, pattern):
        return re.search(pattern, self.text, re.I)


def quoted(text):
    """The texts between quotation marks or backticks."""
    return [next(filter(None, groups)) for groups in QUOTED.findall(text)]


def paths_in(text):
    """The file names in a text, each once, in order: README.md, data/orders.csv, `名单.txt`."""
    found = [(m.start(), m[0]) for m in PATH.finditer(text) if not m[0].lower().startswith(("e.g", "i.e"))]
    found += [(m.start(), m[0]) for m in BARE_NAMES.finditer(text)]
    for match in QUOTED.finditer(text):
        inside = next(filter(None, match.groups()))
        if re.fullmatch(r"[^\s/][^\s]*\.\w{1,8}", inside):
            found.append((match.start(), inside))
    return list(dict.fromkeys(path.removeprefix("./") for _, path in sorted(found)))


def speaks_chinese(text):
    """True if the first letter outside names and quotations is a Chinese one."""
    letters = re.search(r"[^\W\d_]", PATH.sub(" ", QUOTED.sub(" ", text)))
    return bool(letters and "\u4e00" <= letters[0] <= "\u9fff")

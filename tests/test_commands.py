"""The shell commands of the pages run on Linux, on macOS and in Git's bash: none is of GNU or of Linux alone."""

import ast
import json
import re

import pytest
from refresh import ROOT, notebooks

START = r"(?:^|[;&|(`]|\$\(|\bdo|\bthen)\s*"  # where a command may begin
WORDS = r"(?: [^;&|\n]*?)? "  # what stands before an option

# command -> what is wrong with it, an example, and what says the same everywhere
NOT_EVERYWHERE = {
    rf"sed{WORDS}-[nEe]*i(?:\s|$)": ("BSD's -i takes a suffix", "sed -i 's/a/b/' f", "sed 's/a/b/' f > g"),
    rf"sed{WORDS}-r\b": ("BSD's has -E for it", "sed -r 's/a+/b/' f", "sed -E 's/a+/b/' f"),
    r"[^\n]*\| *wc -\w|wc -\w+ \S": (
        "BSD's pads with spaces",
        "cat f | wc -l",
        "python -c \"print(len(open('f').readlines()))\"",
    ),
    r"(?:mkfifo|mknod)\b": ("Git's bash has no pipes with names", "mkfifo pipe", "os.mkfifo"),
    r"seq \d": ("Git's bash may lack it", "for i in $(seq 3); do :; done", "for i in {1..3}; do :; done"),
    r"timeout (?:-|\d)": ("macOS has none", "timeout 5 cat", 'run_bash("cat", timeout=5)'),
    rf"grep{WORDS}-\w*P": ("BSD's has no -P", "grep -nP '\\d' f", "grep -nE '[0-9]' f"),
    rf"date{WORDS}(?:-d|--date|\+\S*%N)": ("BSD's has -j -f", "date -d yesterday", "date +%Y"),
    rf"(?:readlink|realpath){WORDS}?-\w*[fem]\b": ("not before macOS 12", "readlink -f f", "readlink f"),
    rf"stat{WORDS}(?:-c|--format|--printf)": ("BSD's has -f", "stat -c %s f", "ls -l f"),
    r"find .*-(?:printf|regextype|executable)\b": ("GNU's alone", "find . -printf '%f'", "find . -name f -print"),
    rf"xargs{WORDS}(?:-r|-d|--\w+)": ("BSD's has none of them", "find . | xargs -r rm", "find . -exec rm {} +"),
    rf"(?:cp|mv|rm|ls|mkdir|sort|head|tail|cut|du|df|tar|touch|cat|diff){WORDS}--\w": (
        "BSD's has no long options",
        "ls --color f",
        "ls -l f",
    ),
    rf"(?:head|tail){WORDS}-[nc] ?-\d": ("BSD's counts from the beginning alone", "head -n -1 f", "head -n 1 f"),
    rf"base64{WORDS}-[dw]\b": ("an old BSD's has -D", "base64 -d f", "base64 f"),
    rf"sort{WORDS}-\w*[Vh]\b": ("not in each BSD", "ls | sort -V", "ls | sort"),
    rf"du{WORDS}-\w*b\b": ("BSD's has none", "du -sb .", "du -sk ."),
    rf"cat{WORDS}-\w*A": ("BSD's has -et", "cat -A f", "cat -et f"),
    rf"mktemp{WORDS}(?:-p|--\w)": ("BSD's has no -p", "mktemp -p /tmp", "mktemp -d"),
    rf"ps{WORDS}(?:-C|--\w)": ("GNU's alone", "ps -C bash", "ps -e"),
    r"(?:tac|shuf|nproc|md5sum|sha\d+sum|setsid|getent|numfmt|pidof|apt(?:-get)?|strace|unshare)\b": (
        "macOS has none",
        "tac f",
        "sort f",
    ),
    r"\w+ [^\n]*(?:/proc/|/dev/shm|/sys/)": ("Linux's alone", "cat /proc/self/environ", "env"),
    r"[^\n]*\$\{\w+(?:,,|\^\^|@\w)\}": ("macOS has bash 3.2", "echo ${x,,}", "echo $x | tr A-Z a-z"),
    r"(?:declare -A|mapfile|readarray|coproc)\b": ("macOS has bash 3.2", "declare -A x", "x=1"),
    r"[^\n]*&>>": ("macOS has bash 3.2", "ls &>> f", "ls >> f 2>&1"),
}
LINUX_SAYS = re.compile("|".join(f"{START}(?:{command})" for command in NOT_EVERYWHERE), re.MULTILINE)


def strings(code):
    """The strings in Python code, those that f-strings are made of too."""
    return [
        node.value
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def on_the_page(path):
    """What can be a command on a page: the strings of its code cells, and the code in its text."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            yield from strings(source)
        else:
            yield from re.findall(r"`([^`\n]+)`", source)


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: str(path.relative_to(ROOT / "notebooks")))
def test_each_command_of_a_page_runs_on_every_system(path):
    assert not {text: found[0] for text in on_the_page(path) if (found := LINUX_SAYS.search(text))}


@pytest.mark.parametrize("command", NOT_EVERYWHERE, ids=[example for _, example, _ in NOT_EVERYWHERE.values()])
def test_a_command_of_one_system_is_told_from_what_says_the_same_everywhere(command):
    _, example, everywhere = NOT_EVERYWHERE[command]
    assert re.search(f"{START}(?:{command})", example)
    assert not LINUX_SAYS.search(everywhere)


@pytest.mark.parametrize(
    "text",
    ["it took a long timeout", "the sequence 1", "a date", "a sort of cat -", "sed", "wc", "Read the file"],
)
def test_words_are_no_commands(text):
    assert not LINUX_SAYS.search(text)

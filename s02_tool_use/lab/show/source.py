"""The source of a function, class or table, and a drawing of it that needs no colours."""

import ast
import inspect
import io
import keyword
import sys
import sysconfig
import textwrap
import tokenize
from pathlib import Path

from . import page

REPOSITORY = Path(__file__).resolve().parents[3]


def of(thing):
    """(file, source text) of a function, class or module, or of a table that a module of the package defines."""
    if inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing):
        try:
            return where(inspect.getsourcefile(thing)), textwrap.dedent(inspect.getsource(thing)).rstrip()
        except (OSError, TypeError):  # built in, or typed into a prompt that keeps no source
            raise ValueError(f"There is no Python source of {getattr(thing, '__name__', 'this')} to show.") from None
    for module in list(sys.modules.values()) if isinstance(thing, (dict, list, tuple, set)) else []:
        if getattr(module, "__name__", "").partition(".")[0] != "s02_tool_use":
            continue
        for name, value in vars(module).items():
            if value is thing and (text := _assignment(module, name)):
                return where(module.__file__), text
    raise ValueError(
        f"There is no source of {type(thing).__name__} to show. Give a function, a class or a table of the package."
    )


def where(file):
    """A source file as everybody has it: seen from the repository or from what is installed, else "this notebook"."""
    file = Path(file or "").resolve()
    for root in (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), REPOSITORY):  # the inner ones first
        if file.is_relative_to(root):
            return file.relative_to(root).as_posix()
    return "this notebook"


def _assignment(module, name):
    """The lines in which a module assigns to `name`, or None."""
    text = inspect.getsource(module)
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return ast.get_source_segment(text, node)
    return None


def drawn(text):
    """`text` as HTML: keywords bold, comments and docstrings paler. No colours, so it fits every theme."""
    lines = text.split("\n")
    out, row, column = [], 1, 0

    def copy(to_row, to_column):
        nonlocal row, column
        while row < to_row:
            out.append(page.escape(lines[row - 1][column:]) + "\n")
            row, column = row + 1, 0
        out.append(page.escape(lines[row - 1][column:to_column]))
        column = to_column

    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        tokens = []
    fresh = True  # at the start of a statement: a string there is a docstring
    for token in tokens:
        style = _style(token, fresh)
        if style:
            copy(*token.start)
            out.append(f'<span style="{style}">')
            copy(*token.end)
            out.append("</span>")
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            fresh = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    copy(len(lines), len(lines[-1]))
    return f'<pre style="margin:2px 0;white-space:pre-wrap;background:none;color:inherit">{"".join(out)}</pre>'


def _style(token, fresh):
    if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and fresh):
        return "opacity:.7"
    if token.type == tokenize.NAME and keyword.iskeyword(token.string):
        return "font-weight:bold"
    return ""

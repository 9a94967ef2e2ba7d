"""The source of a function, class or table, and a drawing of it."""

import ast
import inspect
import sys
import sysconfig
import textwrap
from pathlib import Path

from . import page

REPOSITORY = Path(__file__).resolve().parents[3]


def of(thing: object) -> tuple[str, str]:
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


def where(file: str | None) -> str:
    """A source file as everybody has it: seen from the repository or from what is installed, else "this notebook"."""
    path = Path(file or "").resolve()
    for root in (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), REPOSITORY):  # the inner ones first
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return "this notebook"


def _assignment(module, name):
    """The lines in which a module assigns to `name`, or None."""
    text = inspect.getsource(module)
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return ast.get_source_segment(text, node)
    return None


def drawn(text: str) -> str:
    """`text` as HTML, by Pygments. Its colours are those of the page, readable on a light ground and on a dark one."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer
    from pygments.style import Style
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    blue, violet, green, pink, brown, _ = page.COLOURS

    class Colours(Style):
        styles = {
            Comment: f"italic {page.GREY}",
            String.Doc: f"italic {page.GREY}",
            String: green,
            Number: brown,
            Keyword: f"bold {violet}",
            Operator.Word: f"bold {violet}",
            Keyword.Constant: brown,
            Name.Function: blue,
            Name.Class: blue,
            Name.Decorator: pink,
        }

    lexer = PythonLexer(stripnl=False, ensurenl=False)
    inside = highlight(text, lexer, HtmlFormatter(nowrap=True, noclasses=True, style=Colours)).removesuffix("\n")
    return f'<pre style="margin:2px 0;white-space:pre-wrap;background:none;color:inherit">{inside}</pre>'

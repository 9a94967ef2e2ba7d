"""Draws the source of functions, classes and tables."""

import ast
import inspect
import sys
import sysconfig
import textwrap
from pathlib import Path

from .page import COLOURS, GREY, Page, escape, pre, readable

# Kinds of Pygments, the narrower ones first -> the element and the colour in which they are drawn.
LOOKS = {
    "Comment": ("i", GREY),
    "Literal.String.Doc": ("i", GREY),
    "Literal.String": ("span", COLOURS[2]),
    "Literal.Number": ("span", COLOURS[4]),
    "Keyword.Constant": ("span", COLOURS[4]),
    "Keyword": ("b", COLOURS[1]),
    "Operator.Word": ("b", COLOURS[1]),
    "Name.Function": ("span", COLOURS[0]),
    "Name.Class": ("span", COLOURS[0]),
    "Name.Decorator": ("span", COLOURS[3]),
}
REPOSITORY = Path(__file__).resolve().parents[3]


def show_source(*things: object) -> Page:
    """Show the source of functions, classes or tables of the package, and the file in which each stands."""
    found = [_of(thing) for thing in things]
    text = "\n\n".join(f"# {where}\n{lines}" for where, lines in found)
    drawn = (f'<div style="opacity:.75">{escape(where)}</div>{_drawn(lines)}' for where, lines in found)
    return Page(text, "".join(drawn))


def _of(thing: object) -> tuple[str, str]:
    """(file, source text) of a function, class or module, or of a table that a module of the package defines."""
    if inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing):
        thing = inspect.unwrap(thing) if callable(thing) else thing  # of a decorated one: where it was written
        try:
            return _where(inspect.getsourcefile(thing)), textwrap.dedent(inspect.getsource(thing)).rstrip()
        except (OSError, TypeError):  # built in, or typed into a prompt that keeps no source
            raise ValueError(f"There is no Python source of {getattr(thing, '__name__', 'this')} to show.") from None
    ours = [module for name, module in sys.modules.copy().items() if name.partition(".")[0] == "s02_tool_use"]
    for module in ours if isinstance(thing, (dict, list, tuple, set)) else ():
        names = {name for name, value in vars(module).items() if value is thing}
        text = inspect.getsource(module) if names else ""
        for node in ast.parse(text).body:  # an assignment to one of these names
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if names & {getattr(target, "id", None) for target in targets}:
                return _where(module.__file__), ast.get_source_segment(text, node) or ""
    kind = type(thing).__name__
    raise ValueError(f"There is no source of {kind} to show. Give a function, a class or a table of the package.")


def code_of(function: object) -> str:
    """The source of a function or class without its docstrings."""
    _, text = _of(function)
    lines = text.split("\n")
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    named = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds) and ast.get_docstring(node)]
    for first, *rest in sorted((node.body for node in named), key=lambda body: -body[0].lineno):
        if rest and rest[0].lineno > first.lineno:  # a docstring alone is the body
            del lines[first.lineno - 1 : first.end_lineno]
    return "\n".join(lines)


def _where(file: str | None) -> str:
    """A source file as everybody has it: seen from the repository or from what is installed, else "this notebook"."""
    path = Path(file or "").resolve()
    for root in (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), REPOSITORY):  # the inner ones first
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return "this notebook"


def _drawn(text: str) -> str:
    """`text` as HTML, by Pygments. It breaks between words; bold and italics stay where styles are taken away."""
    from pygments.lexers import PythonLexer
    from pygments.token import string_to_tokentype

    pieces = []
    for kind, piece in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        tag, colour = next((look for name, look in LOOKS.items() if kind in string_to_tokentype(name)), ("span", ""))
        drawn = escape(piece)
        pieces.append(f'<{tag} style="color:{readable(colour)}">{drawn}</{tag}>' if colour and piece.strip() else drawn)
    return pre("".join(pieces))

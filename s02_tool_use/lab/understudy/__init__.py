"""Who answers where no model is at hand: rules over the prompt and the results, or the lines of a script."""

from ... import lazily

_HOME = {
    "Scripted": "scripted",
    "Understudy": "reply",
}

__all__ = list(_HOME)
__getattr__ = lazily(__name__, _HOME)

"""Who answers where no model is at hand: rules over the prompt and the results, or the lines of a script."""

from ... import lazily

__all__, __getattr__ = lazily(__name__, {"reply": ["Understudy"], "scripted": ["Scripted"]})

"""Which models take messages of the role "system"."""

import pytest

from s02_tool_use.history.system import takes_system_messages


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("claude-opus-4-8", True),
        ("claude-opus-4-8-20260601", True),
        ("claude-fable-5", True),
        ("claude-sonnet-5", True),
        ("us.anthropic.claude-sonnet-5-1-v1:0", True),
        ("claude-opus-4-7", False),
        ("claude-sonnet-4-5-20250929", False),
        ("claude-opus-4-20250514", False),
        ("claude-3-5-sonnet-20241022", False),
        ("understudy", False),
    ],
)
def test_models_from_4_8_on_take_them(model, takes):
    assert takes_system_messages(model) is takes

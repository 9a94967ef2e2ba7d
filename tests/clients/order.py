"""What the clients ask for: an object whose schema has limits, choices, references, a list and null."""

import json
from enum import Enum
from typing import Literal

from pydantic import BaseModel, Field

ORDER = "Ann orders 3 red bolts."
FILES = "How many Python files are here?"


class Colour(str, Enum):
    RED = "red"
    BLUE = "blue"


class Part(BaseModel):
    name: str
    size: int = Field(ge=1, le=100)


class Order(BaseModel):
    """An order of parts."""

    customer: str
    count: int
    urgent: bool
    kind: Literal["small", "large"]
    colour: Colour
    parts: list[Part] = Field(min_length=1)
    note: str | None = None


def tell(**happened):
    """Print what happened as a line of JSON, an object as {its type: its fields}."""
    print(json.dumps(happened, default=lambda value: {type(value).__name__: value.model_dump(mode="json")}))

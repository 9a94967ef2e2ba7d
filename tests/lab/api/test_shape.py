"""The tables of fields, and what judging by them costs a process."""

import subprocess
import sys
import typing

import anthropic.types as sdk
import anthropic.types.beta as beta
from anthropic.types.anthropic_beta_param import AnthropicBetaParam
from anthropic.types.beta.beta_content_block_param import BetaContentBlockParam
from anthropic.types.beta.message_create_params import MessageCreateParamsBase as BetaParams
from anthropic.types.message_create_params import MessageCreateParamsBase
from typing_extensions import get_type_hints  # that of Python 3.10 leaves Required around a type

from s02_tool_use.lab.api import allowed, shape

TOOL = {"name": "a", "input_schema": {"type": "object"}}
REQUEST = {"model": "any", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi."}], "tools": [TOOL]}


def run(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_every_row_is_a_field_of_its_block():
    assert shape.BLOCKS.keys() <= shape.TYPES.keys()
    for kind, fields in shape.BLOCKS.items():
        assert fields.keys() <= shape.TYPES[kind].keys(), kind
    assert shape.ANY_BLOCK.keys() <= set().union(*shape.TYPES.values())


def test_the_tables_of_the_request_are_the_sdks():
    names = {"stream", *shape.SAMPLING, *get_type_hints(MessageCreateParamsBase)}
    of_betas = get_type_hints(BetaParams).keys() - names - {"betas", "thread"}  # a header, and what the server refuses
    assert shape.REQUEST.keys() == names | of_betas | {"output_format"}
    assert of_betas <= allowed.NEED_A_BETA
    assert shape.CUSTOM.keys() == sdk.ToolParam.__annotations__.keys()
    assert shape.OUTPUT_CONFIG.keys() == beta.BetaOutputConfigParam.__annotations__.keys()
    for table, union in ((shape.THINKING, beta.BetaThinkingConfigParam), (shape.TOOL_CHOICE, beta.BetaToolChoiceParam)):
        assert {name: {"type", *fields} for name, fields in table.items()} == by_type(union)


def test_what_the_sdk_knows_as_beta_alone_needs_a_beta():
    tools, beta_tools = (by_type(union).keys() for union in (sdk.ToolUnionParam, beta.BetaToolUnionParam))
    assert shape.TOOL["choices"].keys() - {"custom"} == beta_tools
    blocks, beta_blocks = (by_type(union).keys() for union in (sdk.ContentBlockParam, BetaContentBlockParam))
    assert beta_tools - tools | beta_blocks - blocks <= allowed.NEED_A_BETA


def test_every_beta_of_the_sdk_is_known_and_what_betas_bring_is_theirs():
    assert set(names_in(AnthropicBetaParam)) <= allowed.BETAS
    for family in allowed.BRINGS:
        assert any(name.startswith(family) for name in allowed.BETAS), family


def names_in(annotation):
    """The strings of all Literals in it."""
    for part in typing.get_args(annotation):
        yield from [part] if isinstance(part, str) else names_in(part)


def by_type(union):
    """type -> the fields of each of the SDK's types; but for the tool that need not say its type."""
    hints = [get_type_hints(one) for one in typing.get_args(union) if isinstance(one, type) or not typing.get_args(one)]
    return {name: set(fields) for fields in hints for name in names_in(fields["type"]) if name != "custom"}


def test_every_rule_of_a_row_is_in_the_table_of_rules():
    def rules(schema):
        known = schema.get("metadata") if isinstance(schema, dict) else None
        yield from filter(None, known.values() if isinstance(known, dict) and "rule" in known else ())
        for part in (
            schema.values() if isinstance(schema, dict) else schema if isinstance(schema, (list, tuple)) else ()
        ):
            yield from rules(part)

    assert set(rules([shape.BLOCKS, shape.ANY_BLOCK, shape.REQUEST])) <= set(shape.RULES)


def test_pydantic_and_jsonschema_are_imported_when_they_are_needed():
    code = "import sys; from s02_tool_use.lab.api import server, rules; print(*sys.modules)"
    assert not {"pydantic_core", "jsonschema"} & set(run(code))
    without_tools = REQUEST | {"tools": []}
    code = f"import sys; from s02_tool_use.lab.api import validate; validate({without_tools}); print(*sys.modules)"
    assert "jsonschema" not in run(code)


def test_the_slow_part_of_jsonschema_stays_away_until_somebody_asks_for_it():
    code = f"""if True:
        import sys
        from s02_tool_use.lab.api import validate
        assert validate({REQUEST}) is None
        print("jsonschema" in sys.modules, "rfc3987_syntax" in sys.modules, "lark" in sys.modules)
        import jsonschema
        checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
        print(checker.conforms("http://a/\u00fc", "iri"), checker.conforms("a b", "iri"), "lark" in sys.modules)
    """
    assert run(code) == ["True", "False", "False", "True", "False", "True"]

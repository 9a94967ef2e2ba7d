"""connect(): which endpoint it chooses and says, and what it says about settings that cannot work."""

import gc
import socket
import subprocess
import sys
import threading
import weakref

import anthropic
import pytest
from systems import over_both
from waiting import PATIENCE_SECONDS
from wire_log import exchanges

from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.client import endpoint as module
from s02_tool_use.lab.client.endpoint import connect
from s02_tool_use.lab.client.settings import SettingsError
from s02_tool_use.lab.understudy.reply import Understudy

HELLO = [{"role": "user", "content": "Hello"}]
KEY = "sk-test-abcdef"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty current folder, with nothing above it that names an endpoint."""
    (tmp_path / "course" / "notebooks").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "course" / "notebooks")
    monkeypatch.delenv("S02_OFFLINE", raising=False)
    return tmp_path / "course"


@pytest.fixture
def dotenv(folder):
    def write(*lines, encoding="utf-8"):
        (folder / ".env").write_text("\n".join(lines) + "\n", encoding=encoding)

    return write


def say(client, model, **more):
    return client.messages.create(model=model, max_tokens=300, messages=HELLO, **more)


def refused():
    """The one sentence with which connect() says no."""
    with pytest.raises(SettingsError) as caught:
        connect()
    return str(caught.value)


# Offline


def test_without_settings_the_understudy_answers_and_the_banner_says_so(capsys):
    client, model = connect()
    assert capsys.readouterr().out == (
        "Offline: no language model answers here, rules do.\nFor a real one see .env.example.\n"
    )
    assert isinstance(client, anthropic.Anthropic)
    assert model == "understudy"
    assert say(client, model).content[0].text.startswith("Hello. I am a set of rules, not a language model.")


@over_both
def test_a_script_answers_line_by_line(capsys):
    client, model = connect(script=["One.", "Two."])
    assert capsys.readouterr().out == "Offline: no language model answers here, the lines of the script do.\n"
    assert model == "scripted"
    assert [say(client, model).content[0].text for _ in range(2)] == ["One.", "Two."]


def test_a_script_is_used_even_when_a_real_endpoint_is_named(dotenv):
    dotenv(f"API_KEY={KEY}", "MODEL_ID=some-model")
    client, model = connect(script=["From the script."])
    assert say(client, model).content[0].text == "From the script."


@over_both
def test_a_script_that_is_used_up_says_so_and_starts_over_with_connect():
    client, model = connect(script=["One."])
    say(client, model)
    with pytest.raises(anthropic.BadRequestError, match="The script has 1 line, and this was request 2"):
        say(client, model)
    client, model = connect(script=["One."])
    assert say(client, model).content[0].text == "One."


@over_both
def test_clients_of_one_process_do_not_disturb_each_other():
    first, model = connect(script=["first one", "first two"])
    second, _ = connect(script=["second one"])
    understudy, name = connect()
    assert say(second, model).content[0].text == "second one"
    assert say(first, model).content[0].text == "first one"
    assert "rules" in say(understudy, name).content[0].text
    assert say(first, model).content[0].text == "first two"


def test_connecting_again_opens_no_second_server():
    clients = [connect()[0] for _ in range(5)]
    assert len({client.base_url for client in clients}) == 1
    assert [thread.name for thread in threading.enumerate()].count("offline server") == 1


def test_proxy_variables_do_not_catch_offline_calls(monkeypatch):
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{dead.getsockname()[1]}")
        client, model = connect()
        assert say(client, model).stop_reason == "end_turn"


@over_both
def test_exchanges_show_what_went_over_the_wire_of_this_client():
    client, model = connect(script=["One."])
    say(client.with_options(timeout=30), model)
    (exchange,) = exchanges(client)
    assert '"content":"Hello"' in exchange["request"]
    assert '"text": "One."' in exchange["response"]


def test_a_copy_goes_on_when_nobody_has_the_first_client_any_more():
    client, model = connect()
    say(client, model)
    client = client.with_options(timeout=30)
    gc.collect()
    assert say(client, model).stop_reason == "end_turn"
    closed = weakref.ref(client._client), client._client._transport._pool
    assert closed[1].connections
    del client
    gc.collect()
    assert closed[0]() is None
    assert not closed[1].connections


@over_both
def test_a_stopped_server_is_replaced():
    connect()
    module._server.close()
    client, model = connect()
    assert say(client, model).stop_reason == "end_turn"


def test_importing_the_module_does_not_import_the_sdk():
    code = "import sys, s02_tool_use.lab.client; sys.exit('anthropic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=PATIENCE_SECONDS).returncode == 0


# Live


def test_a_key_in_dotenv_above_the_folder_makes_it_live_and_is_never_printed(dotenv, capsys):
    dotenv(f"API_KEY={KEY}", "MODEL_ID=some-model")
    client, model = connect()
    assert capsys.readouterr().out == "Live: some-model at api.anthropic.com answers (API_KEY from .env).\n"
    assert (client.api_key, str(client.base_url), model) == (KEY, "https://api.anthropic.com", "some-model")


def test_dotenv_is_not_copied_into_the_environment(dotenv):
    import os

    dotenv(f"API_KEY={KEY}", "MODEL_ID=some-model")
    connect()
    assert "API_KEY" not in os.environ


def test_the_sdk_s_own_variables_count_too(monkeypatch, capsys):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://example.com")
    monkeypatch.setenv("ANTHROPIC_MODEL", "some-model")
    client, model = connect()
    said = "Live: some-model at example.com answers (ANTHROPIC_API_KEY from the environment).\n"
    assert capsys.readouterr().out == said
    assert (client.api_key, model) == (KEY, "some-model")


def test_an_auth_token_is_sent_as_a_token(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token")
    monkeypatch.setenv("ANTHROPIC_MODEL", "some-model")
    client, _ = connect()
    assert (client.auth_token, client.api_key) == ("token", None)


def test_dotenv_wins_over_the_environment_and_its_names_over_the_sdk_s(dotenv, monkeypatch):
    monkeypatch.setenv("API_KEY", "from-the-environment")
    dotenv("ANTHROPIC_API_KEY=second", "API_KEY=first", "MODEL_ID=some-model")
    assert connect()[0].api_key == "first"


def test_a_key_of_the_environment_is_never_sent_to_the_address_in_dotenv(dotenv, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    dotenv("BASE_URL=http://localhost:11434", "MODEL_ID=some-model")
    client, _ = connect()
    assert KEY not in (client.api_key, client.auth_token)


def test_dotenv_may_name_the_model_for_a_key_of_the_environment(dotenv, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    dotenv("MODEL_ID=some-model")
    assert connect()[1] == "some-model"


def test_a_local_server_needs_no_key_and_meets_no_proxy(dotenv, monkeypatch, capsys):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with Server(Understudy()) as server:
        dotenv(f"BASE_URL={server.url}", "MODEL_ID=local-model")
        client, model = connect()
        assert say(client, model).model == "local-model"
        host = server.url.removeprefix("http://")
        assert capsys.readouterr().out == f"Live: local-model at {host} answers (no key, address from .env).\n"


def test_a_placeholder_key_does_not_stand_in_the_way_of_a_local_server(dotenv):
    dotenv("API_KEY=put-your-key-here", "BASE_URL=http://localhost:11434", "MODEL_ID=local-model")
    assert connect()[0].api_key == "not-needed"


def test_a_file_with_a_byte_order_mark_is_read(dotenv):
    dotenv(f"API_KEY={KEY}", "MODEL_ID=some-model", encoding="utf-8-sig")
    assert connect()[0].api_key == KEY


def test_empty_settings_are_no_settings(dotenv, monkeypatch, capsys):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    dotenv("API_KEY=", "BASE_URL=  ", "MODEL_ID=some-model")
    connect()
    assert capsys.readouterr().out.startswith("Offline:")


def test_offline_looks_at_no_setting(dotenv, capsys):
    dotenv(f"API_KEY={KEY}", "MODEL_ID=some-model")
    client, model = connect(offline=True)
    assert model == "understudy"
    assert capsys.readouterr().out == "Offline: no language model answers here, rules do.\n"


def test_s02_offline_keeps_a_room_or_a_test_run_offline(dotenv, monkeypatch, capsys):
    dotenv(f"API_KEY={KEY}", "MODEL_ID=some-model")
    monkeypatch.setenv("S02_OFFLINE", "1")
    assert connect()[1] == "understudy"
    assert capsys.readouterr().out.startswith("Offline:")


# Settings that cannot work


def test_the_placeholder_of_env_example_stays_offline_and_is_named(folder, capsys):
    from pathlib import Path

    example = Path(module.__file__).parents[3] / ".env.example"
    (folder / ".env").write_bytes(example.read_bytes())
    connect()
    said = capsys.readouterr().out
    assert said.startswith(
        "Offline: no language model answers here, rules do.\nAPI_KEY in .env is still the placeholder"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('API_KEY="\'sk-abc\'"', "API_KEY in .env has quotation marks around it: remove them."),
        ("API_KEY=“sk-abc”", "API_KEY in .env has quotation marks around it: remove them."),
        ('API_KEY=" sk-abc"', "API_KEY in .env has spaces around it: remove them."),
        ("API_KEY=sk-abc def", "API_KEY in .env has a character that no key has: copy it again."),
        ("API_KEY=sk–abc", "API_KEY in .env has a character that no key has: copy it again."),
        ("BASE_URL=localhost:11434", "BASE_URL in .env has no http:// or https://: write http://localhost:11434"),
        ("BASE_URL=example.com/api", "BASE_URL in .env has no http:// or https://: write https://example.com/api"),
        ("BASE_URL=htp://example.com", "BASE_URL in .env has no http:// or https://: write https://example.com"),
        ("BASE_URL=http://localhost:1234/v1", "BASE_URL in .env must end before /v1, which the client adds: write "
         "http://localhost:1234"),
        ("BASE_URL=https://a.com/v1/messages/", "BASE_URL in .env must end before /v1, which the client adds: write "
         "https://a.com"),
        ("BASE_URL=http://", "BASE_URL in .env is not an address: http://"),
        ("BASE_URL=http://a:port", "BASE_URL in .env is not an address: http://a:port"),
        ("BASE_URL=[::1", "BASE_URL in .env has no http:// or https://: write https://[::1"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_work_is_named_with_what_to_do(dotenv, line, said):
    dotenv(line, "MODEL_ID=some-model")
    assert refused() == said


def test_quotes_in_an_environment_variable_are_named(monkeypatch):
    monkeypatch.setenv("API_KEY", '"sk-abc"')
    monkeypatch.setenv("MODEL_ID", "some-model")
    assert refused() == "API_KEY in the environment has quotation marks around it: remove them."


def test_a_missing_model_is_named(dotenv):
    dotenv(f"API_KEY={KEY}")
    assert refused() == "MODEL_ID is missing: .env names an endpoint, so say there which model is to answer."


def test_a_file_in_another_encoding_is_named(dotenv):
    dotenv(f"API_KEY={KEY}", encoding="utf-16")
    assert refused() == "The file .env is not UTF-8 text: save it again with the encoding UTF-8."


def test_the_key_is_in_no_error(dotenv):
    dotenv(f"API_KEY='\"{KEY}\"'")
    assert KEY not in refused()


def test_a_notebook_shows_the_sentence_alone():
    assert SettingsError("Say which.")._render_traceback_() == ["SettingsError: Say which."]

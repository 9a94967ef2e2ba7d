"""connect(base_url=..., model=..., api_key=...): an endpoint for one client, beside any other."""

import http.client
import os
import socket

import anthropic
import pytest
from fake_endpoint import endpoint

from s02_tool_use.calls import secrets
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.client.endpoint import answerer_of, connect
from s02_tool_use.lab.client.faults import explain
from s02_tool_use.lab.client.replay import Replay
from s02_tool_use.lab.client.settings import SettingsError
from s02_tool_use.lab.understudy import Scripted

HELLO = [{"role": "user", "content": "Hello"}]
KEY, OTHER = "sk-given-0123456789", "sk-other-9876543210"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def serve():
    """A function that starts an endpoint with a script; returns its URL."""
    servers = []

    def start(*lines):
        servers.append(Server(Scripted(lines)).start())
        return servers[-1].url

    yield start
    for server in servers:
        server.close()


def say(client, model, **more):
    reply = client.messages.create(model=model, max_tokens=300, messages=HELLO, **more)
    return reply.content[0].text


def refused(**arguments):
    with pytest.raises(SettingsError) as caught:
        connect(**arguments)
    return str(caught.value)


def test_two_endpoints_stand_side_by_side_with_the_offline_one(serve, capsys):
    one, model_one = connect(base_url=serve("one", "one again"), model="small")
    two, model_two = connect(base_url=serve("two"), model="large", api_key=KEY)
    offline, rules = connect()
    assert (model_one, model_two, rules) == ("small", "large", "understudy")
    assert say(one, model_one) == "one"
    assert say(two, model_two) == "two"
    assert say(one, model_one) == "one again"
    assert "rules" in say(offline, rules)
    hosts = [str(client.base_url).removeprefix("http://").rstrip("/") for client in (one, two)]
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"Live: small at {hosts[0]} answers (no key, address from connect()).",
        f"Live: large at {hosts[1]} answers (api_key= from connect()).",
    ]


def test_neither_the_environment_nor_another_client_changes(folder, monkeypatch):
    (folder / ".env").write_text(f"API_KEY={OTHER}\nMODEL_ID=some-model\nMAX_TOKENS=5\n")
    first, _ = connect()
    before, known = dict(os.environ), (str(first.base_url), first.api_key, first.auth_token)
    second, _ = connect(base_url="http://localhost:11434", model="other", api_key=KEY)
    assert dict(os.environ) == before
    assert (str(first.base_url), first.api_key, first.auth_token) == known
    assert second.api_key == KEY


def test_no_secret_of_env_or_environment_goes_to_a_given_address(folder, monkeypatch):
    (folder / ".env").write_text(f"API_KEY={OTHER}\nMODEL_ID=some-model\n")
    monkeypatch.setenv("ANTHROPIC_API_KEY", OTHER)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", OTHER)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"x-gateway: {OTHER}\nnonsense")
    heard = []

    def body(handler):
        heard.append(str(handler.headers))
        return b"{}"

    with endpoint(status=400, body=body) as url:
        client, model = connect(base_url=url, model="m")
        for one in (client, client.with_options(timeout=20)):
            with pytest.raises(anthropic.BadRequestError):
                say(one, model)
    assert len(heard) == 2
    assert OTHER not in "".join(heard)


def test_a_given_key_and_the_keys_of_env_are_cut_from_what_is_shown(folder):
    (folder / ".env").write_text(f"API_KEY={OTHER}\nMODEL_ID=some-model\n")
    connect(base_url="http://me:hidden-password@localhost:1", model="m", api_key=KEY)
    assert secrets.cut(f"{KEY} {OTHER} hidden-password") == " ".join([secrets.CUT] * 3)


def test_a_given_endpoint_is_meant_also_where_everything_stays_offline(serve, monkeypatch, capsys):
    monkeypatch.setenv("S02_OFFLINE", "1")
    client, model = connect(base_url=serve("I am there."), model="m")
    assert say(client, model) == "I am there."
    assert capsys.readouterr().out.startswith("Live: m at ")
    assert connect()[1] == "understudy"


def test_a_given_endpoint_with_the_key_of_an_offline_client_is_not_taken_for_it(serve):
    offline, _ = connect()
    client, _ = connect(base_url=serve(), model="m", api_key=offline.api_key)
    assert answerer_of(offline) is not None
    assert answerer_of(client) is None


def test_what_a_given_endpoint_says_can_be_recorded(serve, folder):
    client, model = connect(base_url=serve("Recorded."), model="m", record="run.jsonl")
    assert say(client, model) == "Recorded."
    again, model = connect(replay="run.jsonl")
    assert (say(again, model), model) == ("Recorded.", "m")
    assert isinstance(answerer_of(again), Replay)


A = "http://a.com"
ADDRESS = 'give the address of the endpoint, such as base_url="https://api.anthropic.com".'
MODEL = "give the name of the model that is to answer there."
ANY_KEY = "give the key of this endpoint, or leave api_key= out where none is needed."
AN_ADDRESS = 'A script is a list of lines, such as ["Hello."]; an address goes to base_url=, with model= beside it.'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"base_url": A}, f"base_url= needs model= beside it: {MODEL}"),
        ({"model": "m"}, f"model= needs base_url= beside it: {ADDRESS}"),
        ({"api_key": KEY}, f"api_key= needs base_url= beside it: {ADDRESS}"),
        ({"base_url": "", "model": "m"}, f"base_url= is empty: {ADDRESS}"),
        ({"base_url": A, "model": " "}, f"model= is empty: {MODEL}"),
        ({"base_url": A, "model": "m", "api_key": ""}, f"api_key= is empty: {ANY_KEY}"),
        ({"base_url": 11434, "model": "m"}, f"base_url= must be a string, and this is int: {ADDRESS}"),
        ({"base_url": A, "model": ["m"]}, f"model= must be a string, and this is list: {MODEL}"),
        ({"script": A}, AN_ADDRESS),
        (
            {"base_url": A, "model": "m", "script": ["x"]},
            "Give base_url= or a script, not both: each says who answers.",
        ),
        ({"base_url": A, "model": "m", "replay": "x"}, "Give base_url= or replay=, not both: each says who answers."),
        ({"model": "m", "offline": True}, "Give model= or offline=True, not both: each says who answers."),
    ],
)
def test_what_cannot_work_is_one_sentence_that_says_what_to_do(arguments, said):
    assert refused(**arguments) == said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"base_url": "localhost:11434"},
            "base_url= in connect() has no http:// or https://: write http://localhost:11434",
        ),
        ({"base_url": f"{A}/v1"}, f"base_url= in connect() must end before /v1, which the client adds: write {A}"),
        ({"base_url": f"{A}?x=1"}, f"base_url= in connect() must end before ? and #: write {A}"),
        ({"base_url": f" {A}"}, "base_url= in connect() has spaces around it: remove them."),
        ({"base_url": KEY}, "base_url= in connect() holds a key: move it to api_key=."),
        ({"model": '"m"'}, "model= in connect() has quotation marks around it: remove them."),
        ({"api_key": "'k'"}, "api_key= in connect() has quotation marks around it: remove them."),
        ({"api_key": "sk–abc"}, "api_key= in connect() has a character that no key has: copy it again."),
    ],
)
def test_an_argument_is_judged_as_its_setting_in_env_is(arguments, said):
    assert refused(**{"base_url": A, "model": "m", **arguments}) == said


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://",
            "http://exa mple.com",
            "http://a..b",
            "http://.",
            "http://-",
            "http://h\\x",
            "http://[zz]",
            "http://[::1",
        ),
        *("http://h:port", "http://h:99999", "http://h:0", "http://h:0x1", "http://ho\nst", "http://😀"),
        *("http://" + "a" * 64 + ".com", "http://h/a b"),
    ],
)
def test_a_malformed_address_is_refused_before_anything_is_sent(url):
    assert refused(base_url=url, model="m") == f"base_url= in connect() is not an address: {url}"


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://localhost:11434",
            "http://127.0.0.1:8080/",
            "https://exämple.com/api",
            "http://[::1]:80",
            "http://my_box:1",
        ),
        *("https://a.b-c.example.", "HTTPS://EXAMPLE.COM", "https://me:pass@example.com"),
    ],
)
def test_an_address_in_any_usual_form_is_taken(url):
    client, _ = connect(base_url=url, model="m")
    client.close()


def test_the_key_is_in_no_sentence():
    assert KEY not in refused(base_url=f"http://{KEY}@h:port", model="m", api_key=KEY)
    assert KEY not in refused(base_url="http://a.com", model=f'"{KEY}"', api_key=f'"{KEY}"')


def test_an_endpoint_that_is_down_says_which_argument_to_check():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{closed.getsockname()[1]}"
        client, model = connect(base_url=f"http://{host}", model="m")
        with pytest.raises(anthropic.APIConnectionError) as caught:
            say(client.with_options(max_retries=0), model)
    said = f"No connection to the endpoint at {host}. Start the server there, or check base_url= in connect()."
    assert caught.value._render_traceback_() == [said]
    assert explain(caught.value, client) == said


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "Check api_key= in connect()."),
        (403, "Check api_key= and model= in connect()."),
        (404, "Check model= and base_url= in connect()."),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_names_the_argument_and_not_a_file_that_nobody_wrote(status, said, stream):
    with endpoint(status=status) as url:
        client, model = connect(base_url=url, model="m")
        with pytest.raises(anthropic.APIStatusError) as caught:
            say(client, model, stream=stream)
    assert explain(caught.value).endswith(said)


def test_what_is_no_answer_of_the_messages_api_names_the_argument():
    with endpoint(headers={"content-type": "text/html"}, body=b"<title>Hi</title>") as url:
        client, model = connect(base_url=url, model="m")
        with pytest.raises(anthropic.APIStatusError) as caught:
            say(client, model)
    assert explain(caught.value).endswith("Check base_url= in connect().")


def test_the_settings_of_env_are_still_named_by_their_names(monkeypatch):
    with endpoint(status=401) as url:
        monkeypatch.setenv("BASE_URL", url)
        monkeypatch.setenv("MODEL_ID", "m")
        client, model = connect()
        with pytest.raises(anthropic.APIStatusError) as caught:
            say(client, model)
    assert explain(caught.value).endswith("Check API_KEY in .env.")


def test_the_headers_that_connect_adds_stay_on_this_machine():
    """The mark for faults.explain is no header."""
    heard = []

    def body(handler):
        heard.append(handler.headers)
        return b"{}"

    with endpoint(status=400, body=body) as url, pytest.raises(anthropic.BadRequestError):
        say(*connect(base_url=url, model="m"))
    assert isinstance(heard[0], http.client.HTTPMessage)
    assert not [name for name in heard[0] if "s02" in name.lower()]

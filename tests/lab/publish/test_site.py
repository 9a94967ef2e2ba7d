"""The builder of the site: what it refuses, which wheels it takes, and that the same course makes the same bytes."""

import base64
import hashlib
import importlib.metadata
import io
import json
import shutil
import zipfile

import pytest

from s02_tool_use.lab.publish import site
from s02_tool_use.lab.start import setup

VIEW = "application/vnd.jupyter.widget-view+json"  # JSON, and no string


@pytest.fixture
def no_build(monkeypatch):
    """Nothing of a build runs: a test that comes so far fails."""
    monkeypatch.setattr(setup, "run", lambda *command: pytest.fail("ran " + " ".join(command)))


# ---- where it may go


def made_before(folder):
    (folder / "lab").mkdir(parents=True)
    (folder / "lab" / "index.html").write_text("made")
    (folder / site.MADE).write_text(json.dumps({"files": ["lab/index.html"]}))


@pytest.mark.parametrize(
    "put",
    [
        lambda folder: folder.write_text("mine"),
        lambda folder: (folder.mkdir(), (folder / "mine.txt").write_text("mine")),
        lambda folder: (made_before(folder), (folder / "mine.txt").write_text("mine")),
        lambda folder: (made_before(folder), (folder / "lab" / "mine.txt").write_text("mine")),
        lambda folder: (made_before(folder), (folder / ".git").mkdir(), (folder / ".git" / "HEAD").write_text("mine")),
        lambda folder: (made_before(folder), (folder / site.MADE).write_text("{}")),
        lambda folder: (made_before(folder), (folder / site.MADE).write_text("no JSON")),
    ],
    ids=["a file", "a folder", "a site and a file", "a file in it", "a repository", "another list", "a broken list"],
)
def test_what_somebody_else_has_put_there_is_kept_and_named(put, tmp_path, no_build):
    folder = tmp_path / "site"
    put(folder)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    said = site.main([str(folder)])
    assert isinstance(said, str)
    assert "Name a new" in said
    assert said.endswith(f"{folder} is as it was.")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("put", [lambda folder: None, lambda folder: folder.mkdir(), made_before])
def test_a_new_an_empty_and_a_former_folder_are_taken(put, tmp_path):
    put(tmp_path / "site")
    site.refuse(tmp_path / "site")


def test_a_build_that_is_stopped_leaves_what_was_there(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    made_before(folder)

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(site.apart, "install", lambda *arguments: None)
    monkeypatch.setattr(site, "wheels_of_the_page", lambda apart_in: {})
    monkeypatch.setattr(site, "lite_build", stop)
    assert site.main([str(folder)]) == f"Stopped. {folder} is as it was."
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["index.html", "lab", site.MADE, "site"]


# ---- the notebooks


@pytest.mark.parametrize("path", sorted((setup.ROOT / "notebooks").rglob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_of_the_page_has_each_string_in_one_piece_and_says_the_same(path, tmp_path):
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    site.as_served(copy)
    shipped, served = (json.loads(one.read_text("utf-8")) for one in (path, copy))
    assert [cell["source"] for cell in served["cells"]] == ["".join(cell["source"]) for cell in shipped["cells"]]
    said = list(strings_of(served))
    assert all(isinstance(one, str) for one in said)
    assert said == ["".join(one) for one in strings_of(shipped)]


def strings_of(notebook):
    """What stands in the outputs of a notebook, as it is in the file."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            yield output.get("text", "")
            yield from (value for kind, value in output.get("data", {}).items() if kind != VIEW)


# ---- the wheels


def test_the_course_is_a_wheel_of_this_clone_and_always_of_the_same_bytes(tmp_path):
    name, content = site.course_wheel()
    assert (name, content) == site.course_wheel()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        inside = {info.filename: archive.read(info) for info in archive.infolist()}
    there = {name for name in inside if ".dist-info/" not in name}
    for path in ("s02_tool_use/loop.py", "s02_tool_use/lab/data/sample/README.md"):
        assert inside[path] == (setup.ROOT / path).read_bytes()
    assert not [name for name in there if "__pycache__" in name or "/." in name or not name.startswith("s02_tool_use/")]
    (tmp_path / name).write_bytes(content)
    found = importlib.metadata.PathDistribution(zipfile.Path(tmp_path / name, "s02_tool_use-0.1.0.dist-info/"))
    assert found.version == importlib.metadata.version("s02-tool-use")
    for file in found.files or ():
        if file.hash:
            digest = hashlib.sha256(inside[str(file)]).digest()
            assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == file.hash.value


def test_a_page_needs_what_the_course_says_without_what_draws_notebooks_elsewhere():
    name, _, needs, imports = site.about(site.course_wheel()[1])
    assert name == "s02-tool-use"
    assert imports == ["s02_tool_use"]
    assert {"anthropic", "ipywidgets", "jsonschema", "python-dotenv"} <= needs
    assert not needs & site.NOT_THERE


def test_each_package_has_one_version_which_a_file_of_ours_pins():
    pins = site.pins_of_the_page()
    assert pins["httpx2-jsfetch"]  # in a page alone
    assert "psutil" not in pins  # needs processes
    assert all(version[0].isdigit() for version in pins.values())


def test_a_package_without_a_version_is_named_and_nothing_is_asked(tmp_path, no_build):
    with pytest.raises(setup.SetupError, match="No version of left-pad is named in constraints.txt"):
        site.download(["left-pad"], {}, tmp_path)


def test_what_was_kept_is_not_downloaded_again_unless_it_is_broken(tmp_path, monkeypatch):
    name, content = site.wheel("left-pad", "1.0", "Metadata-Version: 2.1\nName: left-pad\nVersion: 1.0\n", {})
    (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(setup, "run", lambda *command: "asked")
    assert site.download(["left-pad"], {"left-pad": "1.0"}, tmp_path) == {"left-pad": tmp_path / name}
    (tmp_path / name).write_bytes(content[:-30])
    with pytest.raises(setup.SetupError, match="asked"):
        site.download(["left-pad"], {"left-pad": "1.0"}, tmp_path)


def test_the_lock_file_says_of_each_wheel_what_pyodide_asks(tmp_path):
    said = 'Metadata-Version: 2.1\nName: Left.Pad\nVersion: 1.0\nRequires-Dist: rpds-py; sys_platform == "emscripten"\n'
    said += 'Requires-Dist: psutil; sys_platform != "emscripten"\nRequires-Dist: rich; extra == "nice"\n'
    made = site.wheel("left-pad", "1.0", said, {"left_pad/__init__.py": b"", "pad.py": b"", "left_pad/a-b.txt": b""})
    site.lock(dict([made]), tmp_path / "wheels")
    assert (tmp_path / "wheels" / made[0]).read_bytes() == made[1]
    locked = json.loads((tmp_path / "wheels" / "pyodide-lock.json").read_text("utf-8"))
    assert locked["info"] == site.INFO
    entry = locked["packages"]["left-pad"]
    assert entry["sha256"] == hashlib.sha256(made[1]).hexdigest()
    assert (entry["file_name"], entry["version"]) == (made[0], "1.0")
    assert entry["depends"] == ["rpds-py"]
    assert entry["imports"] == ["left_pad", "pad"]


# ---- Pyodide


@pytest.mark.parametrize(
    ("environment", "file", "address"),
    [
        ({}, None, "https://registry.npmjs.org"),
        ({}, "registry=http://mirror.test/npm/\n", "http://mirror.test/npm"),
        ({}, '; a comment\n//other.test/:_authToken=x\nregistry = "http://mirror.test"\n', "http://mirror.test"),
        ({"NPM_CONFIG_REGISTRY": "http://given.test/"}, "registry=http://mirror.test\n", "http://given.test"),
        ({"npm_config_registry": ""}, None, "https://registry.npmjs.org"),
    ],
)
def test_pyodide_comes_from_the_registry_that_npm_would_ask(environment, file, address, tmp_path, monkeypatch):
    for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(site.Path, "home", lambda: tmp_path)
    if file:
        (tmp_path / ".npmrc").write_text(file)
    assert site.registry() == address


def test_other_bytes_under_the_name_of_pyodide_are_refused_and_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("npm_config_registry", "http://mirror.test")
    asked = []
    monkeypatch.setattr(site, "urlopen", lambda address, timeout: asked.append(address) or io.BytesIO(b"another"))
    with pytest.raises(setup.SetupError, match="is not what npm has published"):
        site.pyodide(tmp_path)
    assert asked == [f"http://mirror.test/pyodide/-/pyodide-{site.PYODIDE}.tgz"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("registry", ["http://127.0.0.1:9", "no address", "file:///nowhere"])
def test_a_registry_that_does_not_answer_is_named(registry, tmp_path, monkeypatch):
    monkeypatch.setenv("npm_config_registry", registry)
    with pytest.raises(setup.SetupError, match=f"Pyodide comes from {registry}/pyodide/"):
        site.pyodide(tmp_path)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("sqlite3.OperationalError: database or disk is full", "The disk is full: the site and its tools need 250 MB."),
        ("[Errno 28] No space left on device", "The disk is full: the site and its tools need 250 MB."),
        ("connection broken", "Building the site downloads from PyPI and npm, which cannot be reached."),
        ("something else", ""),
    ],
)
def test_what_goes_wrong_on_many_machines_has_a_sentence(said, told):
    assert site.known(said).startswith(told)
    assert bool(site.known(said)) == bool(told)


@pytest.mark.parametrize(("self_contained", "address"), [(True, "./static/"), (False, "https://cdn.jsdelivr.net/")])
def test_pyodide_is_of_the_site_or_of_its_public_address_and_the_wheels_are_of_the_site(self_contained, address):
    kernel = site.configuration(self_contained)["jupyter-config-data"]["litePluginSettings"]
    options = kernel["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert options["pyodideUrl"].startswith(address)
    assert site.PYODIDE in options["pyodideUrl"] or self_contained
    assert options["loadPyodideOptions"]["lockFileURL"].startswith("./")
    assert options["disablePyPIFallback"] is True


# ---- the page at the door


def test_the_page_at_the_door_lists_each_notebook_with_its_title_and_its_solution(tmp_path):
    (tmp_path / "solutions").mkdir()
    cell = {"cell_type": "markdown", "source": ["# Tools < & >\n", "\n", "More."]}
    for name in ("01_a&b.ipynb", "solutions/01_a&b.ipynb", "02_c.ipynb"):
        (tmp_path / name).write_text(json.dumps({"cells": [cell]}))
    one, two = site.contents(tmp_path).splitlines()
    assert "?path=01_a%26b.ipynb" in one
    assert ">01 Tools &lt; &amp; &gt;<" in one
    assert "?path=solutions/01_a%26b.ipynb" in one
    assert "solutions" not in two


def test_jupyterlite_finds_its_settings_in_the_page_at_the_door():
    page = (site.HERE / "site.html").read_text("utf-8")
    assert 'id="jupyter-config-data" type="application/json" data-jupyter-lite-root="."' in page
    assert "<!-- notebooks -->" in page

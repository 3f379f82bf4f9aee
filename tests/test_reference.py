"""The reference is whole: every option, field and public name stands on its page once, and pages name nothing else."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import hornboost as hb
from hornboost.cli.app import app
from hornboost.data.schema_file import DOCUMENTARY, FIELDS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"\bhornboost (\w+)((?:[ \n](?!\$)[^`\n]*)?)")


@pytest.fixture(scope="module")
def cli_reference() -> Any:
    spec = importlib.util.spec_from_file_location("cli_reference", DOCS / "cli_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_the_reference_of_the_command_line_is_the_one_that_the_program_gives(cli_reference: Any) -> None:
    assert text_of(DOCS / "cli.md") == cli_reference.page(), "write it with: python docs/cli_reference.py"


def test_every_option_of_every_verb_is_in_the_reference_once(cli_reference: Any) -> None:
    text = text_of(DOCS / "cli.md")
    common = text.index("## Options of several verbs")
    verbs = cli_reference.verbs()
    assert list(verbs) == [command.callback.__name__ for command in app.registered_commands if command.callback]
    for name, verb in verbs.items():
        section = text[text.index(f"\n## {name}\n") : common].split("\n## ")[1]
        for option in cli_reference.options(verb):
            here, shared = section.count(option.row), text[common:].count(option.row)
            assert (here, shared) in ((1, 0), (0, 1)), f"hornboost {name}: {option.names}"
            if shared:
                assert re.search(rf"\| {re.escape(option.default)} \| [\w, ]*\b{name}\b[\w, ]* \|", text[common:])


def test_every_field_of_a_schema_is_in_its_reference_once() -> None:
    text = text_of(DOCS / "schema.md")
    titles = {
        "the file": "The file",
        "task": "Target and tasks",
        "folds": "Folds",
        "table": "Tables",
        "column": "Columns",
        "foreign key": "Foreign keys",
    }
    assert set(titles) == set(FIELDS)
    for part, title in titles.items():
        section = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
        cells = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
        listed = Counter(
            re.sub(r"[\[\]]|\.NAME", "", name) for cell in cells for name in re.findall(r"`([^`]+)`", cell)
        )
        assert listed == Counter(FIELDS[part]), title
    assert all(f"`{name}`" in text for name in DOCUMENTARY)


def test_every_public_name_is_in_the_reference_of_python_once() -> None:
    text = text_of(DOCS / "api.md")
    listed = Counter(re.findall(r"^::: hornboost\.(.+)$", text, re.MULTILINE))
    assert max(listed.values()) == 1
    for name in hb.__all__:
        if name != "__version__":
            inside = [place for place in listed if place == name or place.startswith(f"{name}.")]
            assert inside, f"hornboost.{name} is not in docs/api.md"
    generated = re.search(r"members: \[(.*)\]", text)
    assert generated is not None
    assert set(generated[1].split(", ")) >= set(hb.datasets.__all__)


def test_pages_name_only_commands_and_options_that_there_are(cli_reference: Any) -> None:
    known = {
        name: {spelling for parameter in cli_reference.parameters(verb) for spelling in parameter.spellings}
        for name, verb in cli_reference.verbs().items()
    }
    wrong = []
    for page in PAGES:
        for verb, rest in COMMAND.findall(text_of(page)):
            options = re.findall(r"(?<!\S)(--?[a-zA-Z][\w-]*)", re.split(r"[|;&]|  #", rest)[0])
            if verb in known:
                wrong += [
                    f"{page.name}: {verb} {option}"
                    for option in options
                    if option not in known[verb] | {"--help", "-h"}
                ]
    assert wrong == []


def test_links_and_anchors_within_the_documentation_lead_somewhere() -> None:
    pages = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
    wrong, checked = [], 0
    for page in pages:
        for link in LINK.findall(FENCE.sub("", text_of(page))):
            if "://" in link or link.startswith("mailto:"):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            checked += 1
            if not target.exists() or (anchor and anchor not in anchors(target)):
                wrong.append(f"{page.relative_to(ROOT)}: {link}")
    assert checked > 150
    assert wrong == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as mkdocs makes them."""
    from markdown.extensions.toc import slugify

    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    return {slugify(re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading), "-") for heading in headings}


def test_a_method_is_documented_where_it_is_defined() -> None:
    """The reference of Python is made of docstrings, so each public method needs one."""
    silent = [
        f"{name}.{method}"
        for name in hb.__all__
        if inspect.isclass(found := getattr(hb, name))
        for method, of in inspect.getmembers(found, callable)
        if not method.startswith("_") and "hornboost" in getattr(of, "__module__", "") and not inspect.getdoc(of)
    ]
    assert silent == []


def test_measured_figures_stand_on_the_pages_of_results_alone() -> None:
    """Elsewhere a page shows what its own code gives, and links to results."""
    names = "results flagship choices defaults which-estimator scale comparison"
    results = {f"{name}.md" for name in names.split()}
    figure = re.compile(r"(?<![\w.])(?:0\.(?!00)\d{3}|\d\d\.\d(?= ?%))(?![\w.])")
    found = {
        page.name: set(figure.findall(re.sub(r"^    .*$", "", FENCE.sub("", text_of(page)), flags=re.MULTILINE)))
        for page in PAGES
    }
    known = set().union(*(found[name] for name in results if name in found))
    assert len(known) > 100
    again = {name: sorted(figures & known) for name, figures in found.items() if name not in results}
    assert {name: figures for name, figures in again.items() if figures} == {}


def test_commands_in_blocks_are_run() -> None:
    """Those in blocks of `console` are, by the tests of pages; blocks of `sh` install, and start what takes long."""
    blocks = [
        block for page in PAGES for block in re.findall(r"^```sh\n(.*?)^```$", text_of(page), re.DOTALL | re.MULTILINE)
    ]
    commands = {command for block in blocks for command in re.findall(r"\bhornboost (\w+)", block)}
    assert commands == {"demo"}

"""The documentation is true: its blocks give the outputs it shows, its links lead somewhere,
and the site builds without a warning.
"""

from __future__ import annotations

import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from documents import BLOCK, is_near, produced
from hornboost.activation.strategies import STRATEGIES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN_ELSEWHERE = {"results.md", "walkthrough-postgres.md"}
"""Pages whose commands need real data; a script beside them runs them."""

OTHERS_MODELS = re.compile(r"^from (sklearn\.(ensemble|linear_model|svm|neural_network)|lightgbm) import", re.MULTILINE)
"""On a page that shows what another library learned, the last digit of a number may differ:
that library's sums have no fixed order."""
MANY_DIGITS = re.compile(r"\d\.\d{13,}")


def runs(page: Path) -> bool:
    return page.name not in WRITTEN_ELSEWHERE and BLOCK.search(page.read_text(encoding="utf-8")) is not None


@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_what_its_code_gives(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    now = produced(text)
    advice = f"outputs changed; write them with: python tests/documents.py {page.relative_to(ROOT)}"
    assert now == text or (OTHERS_MODELS.search(text) and is_near(now, text)), advice


def test_the_five_tutorials_and_the_readme_are_executed() -> None:
    executed = {page.relative_to(ROOT).as_posix() for page in PAGES if runs(page)}
    names = ("shop", "postgres", "skewed", "subgroups", "pipeline")
    assert executed >= {"README.md", *(f"docs/tutorials/{name}.md" for name in names)}


def test_no_example_shows_the_last_digits_of_a_number() -> None:
    modules = sorted((ROOT / "src").rglob("*.py"))
    examples = [example for module in modules for example in _examples(module)]
    assert len(examples) > 150
    assert [example.source for example in examples if MANY_DIGITS.search(example.want)] == []
    blocks = [
        block.group(3) or ""
        for page in PAGES
        if runs(page)
        for block in BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]
    assert [block for block in blocks if MANY_DIGITS.search(block)] == []


def _examples(module: Path) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(module.read_text(encoding="utf-8"), str(module))


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    reference = (tmp_path / "site" / "api" / "index.html").read_text(encoding="utf-8")
    assert "The tables behind the examples" in reference
    assert "C2RIBClassifier" in reference


def test_pages_import_only_public_names() -> None:
    private = re.compile(r"^\s*(?:>>> )?(?:from hornboost\.|import hornboost\.).*", re.MULTILINE)
    assert [line for page in PAGES for line in private.findall(page.read_text(encoding="utf-8"))] == []


def test_every_benchmark_that_is_named_can_be_run() -> None:
    places = [*PAGES, *(ROOT / "benchmarks").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.py")]
    named = {
        name
        for place in places
        for name in re.findall(r"python -m (benchmarks[.\w]*\w)", place.read_text(encoding="utf-8"))
    }
    assert {"benchmarks.engine", "benchmarks.papers", "benchmarks.papers.loans"} <= named
    assert [name for name in named - {"benchmarks.NAME"} if importlib.util.find_spec(name) is None] == []


def test_the_page_of_strategies_lists_all_of_them() -> None:
    text = (ROOT / "docs" / "algorithms" / "evolution.md").read_text(encoding="utf-8")
    for name, of in STRATEGIES.items():
        cells = (name, of.features, of.examples, of.criterion, of.evolution, "yes" if of.repartition else "no")
        assert f"| {' | '.join(cells)} |" in text


def test_links_of_the_readme_lead_to_files_and_its_picture_is_small() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []
    pictures = [link for link in links if link.endswith(".png")]
    assert pictures
    assert all((ROOT / picture).stat().st_size < 300_000 for picture in pictures)


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    docs = ROOT / "docs"
    assert [page.name for page in docs.rglob("*.md") if page.relative_to(docs).as_posix() not in navigation] == []

"""Every benchmark runs as `python -m benchmarks.NAME`, and the small ones give what they say."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import engine, loans_in_time, regression, which

ROOT = Path(__file__).parents[1]
COMMANDS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
    for path in (ROOT / "benchmarks").rglob("*.py")
    if "def main()" in path.read_text(encoding="utf-8")
)


def test_a_section_of_the_page_of_results_takes_the_place_of_the_old_one() -> None:
    title, page = loans_in_time.TITLE, "# Results\n\n## One\n\ntext\n"
    assert loans_in_time.kept(page) == ""
    with_it = loans_in_time.with_section(page, f"{title}\n\nold\n")
    assert with_it == f"{page}\n{title}\n\nold\n"
    assert loans_in_time.kept(with_it) == f"{title}\n\nold\n"
    again = loans_in_time.with_section(with_it, f"{title}\n\nnew\n")
    assert again == with_it.replace("old", "new")
    between = loans_in_time.with_section(again + "\n## Two\n", f"{title}\n\nnew\n\n")
    assert between == again + "\n## Two\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_benchmark_explains_its_options(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(name, run_name="__main__")
    assert not ended.value.code
    assert "usage" in capsys.readouterr().out.lower()


def test_what_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [name for name, _ in which.estimators(None)][-1] == "LightGBM"
    for module in (which, regression):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert [name for name, _ in which.estimators(None)][-1] == "AdaBoost.M1, trees"
    assert list(regression.models()) == ["HornBoost", "the mean"]


def test_the_readme_lists_every_benchmark_of_a_part() -> None:
    listed = re.findall(
        r"^\| `(\w+)` \|", (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    parts = [name.removeprefix("benchmarks.") for name in COMMANDS if not name.startswith("benchmarks.papers")]
    assert sorted(listed) == sorted(set(parts) - {"engine"})


def test_the_engine_prints_its_figures_as_json_for_scripts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engine, "ROWS", 20_000)
    monkeypatch.setattr(engine, "EXAMPLES", 400)
    for slow in ("growth", "threads", "loading"):
        monkeypatch.setattr(engine, slow, dict)
    monkeypatch.delenv("HORNBOOST_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", ["engine", "--json"])
    engine.main()
    figures = json.loads(capsys.readouterr().out)
    assert {"nominal_vs_bincount", "numeric_vs_bincount_shuffled", "later_round_nominal"} <= set(figures)
    assert all(value > 0 for value in figures.values())


def test_a_mistake_on_the_papers_command_line_is_one_sentence() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "HORNBOOST_DATA"}
    command = [sys.executable, "-m", "benchmarks.papers", "c2rib-33"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("benchmarks.papers: there is no table 'c2rib-33'")
    assert ended.stderr.count("\n") == 1

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.papers import c2rib_tables, evolution_table, kbs_table, mlynx_table, results
from benchmarks.papers.__main__ import app
from benchmarks.papers.domains import DOMAINS, examples, splits
from benchmarks.papers.options import choose_fit_and_test, with_linked_labels
from benchmarks.papers.protocol import Cache, Job, corrected_t_test, run_jobs
from benchmarks.papers.published import C2RIB, EVOLUTION, EVOLUTION_DOMAINS, PRANKBOOST, Figure
from benchmarks.papers.tables import TABLES, reproduce, write_page
from hornboost.data import Database
from hornboost.errors import DataError

runner = CliRunner()


def square(data: Path, *, x: int) -> dict[str, float]:
    with (data / "calls").open("a") as calls:
        calls.write(f"{x}\n")
    return {"y": float(x * x)}


def test_jobs_that_are_done_are_not_run_again_after_an_interruption(tmp_path: Path) -> None:
    jobs = [Job(square, {"x": x}, tmp_path) for x in range(5)]
    run_jobs(jobs[:3], Cache(tmp_path / "kept.jsonl"), n_jobs=1)
    with (tmp_path / "kept.jsonl").open("a") as file:
        file.write('{"key": "cut off')
    results = run_jobs(jobs, Cache(tmp_path / "kept.jsonl"), n_jobs=1)
    assert [result["y"] for result in results] == [0.0, 1.0, 4.0, 9.0, 16.0]
    assert (tmp_path / "calls").read_text().split() == ["0", "1", "2", "3", "4"]


def test_results_come_in_the_order_of_the_jobs_from_two_processes(tmp_path: Path) -> None:
    jobs = [Job(dict, {"x": x}, {}) for x in range(9)]  # a function that every process can import: dict({}, x=x)
    done: list[int] = []
    results = run_jobs(jobs, Cache(tmp_path / "kept.jsonl"), n_jobs=2, done=lambda: done.append(1))
    assert [result["x"] for result in results] == list(range(9))
    assert len(done) == 9


def test_a_job_with_other_settings_has_another_key(tmp_path: Path) -> None:
    assert Job(square, {"x": 1}, tmp_path).key != Job(square, {"x": 2}, tmp_path).key
    assert Job(square, {"x": 1}, tmp_path).key == Job(square, {"x": 1}, tmp_path / "elsewhere").key


def test_the_corrected_t_test_is_the_paired_one_where_training_sets_do_not_overlap() -> None:
    from scipy.stats import ttest_1samp

    differences = [0.5, -0.2, 1.0, 0.7, 0.1]
    assert corrected_t_test(differences, 0.0) == pytest.approx(ttest_1samp(differences, 0.0).pvalue)
    assert corrected_t_test(differences, 1 / 9) > corrected_t_test(differences, 0.0)
    assert corrected_t_test([0.0, 0.0], 1 / 9) == 1.0


def test_published_tables_are_complete() -> None:
    rows = [row for table in c2rib_tables.TABLES.values() for row in table if "pair" not in row]
    assert sorted(rows) == sorted(C2RIB)
    assert len(rows) == 11
    assert list(EVOLUTION) == ["C²RIB^D", *(f"V{k}" for k in range(1, 17))]
    assert all(len(figures) == len(EVOLUTION_DOMAINS) for figures in EVOLUTION.values())
    accuracies = np.array([[entry[0] for entry in figures] for figures in EVOLUTION.values()])
    assert accuracies.min() > 72
    assert accuracies.max() < 92


def test_the_published_records_agree_with_the_papers_text() -> None:
    accuracy = {strategy: [entry[0] for entry in figures] for strategy, figures in EVOLUTION.items()}
    records = {strategy: evolution_table.record(accuracy[strategy], accuracy["C²RIB^D"]) for strategy in EVOLUTION}
    # "V15 is, with respect to predictive accuracy, inferior to C²RIB^D on all six domains"
    assert records["V15"] == (0, 6, 0)
    # "V9 is on par with the base case"
    assert records["V9"][0] == 3


@pytest.mark.parametrize(("gains", "word"), [((2, 1, 1, 1, 0, 0), "confirmed"), ((30, 1, 1, 0, 0, 0), "not confirmed")])
def test_a_conclusion_needs_most_of_the_domains(gains: tuple[int, ...], word: str) -> None:
    by_domain = dict(zip(EVOLUTION_DOMAINS, map(float, gains), strict=True))
    found = {"difference": 1.0, "p": 0.001, "n": 60, "by_domain": by_domain}
    names = ("recommended_over_baseline", "recommended_over_discouraged", "baseline_over_discouraged")
    tests = dict.fromkeys(names, found) | {"friedman_p": 0.5, "published_friedman_p": 0.01}
    ranks = {strategy: float(k) for k, strategy in enumerate(EVOLUTION)}
    told = evolution_table.conclusion({"tests": tests, "mean_rank": ranks})
    assert [f"**{word}**" in sentence for sentence in told[1:4]] == [True, True, True]


def test_a_verdict_uses_our_deviation_where_the_paper_has_none() -> None:
    assert c2rib_tables.verdict(90.5, 1.0, Figure(91.1)) == "within one sd"
    assert c2rib_tables.verdict(90.0, 1.0, Figure(91.1)) == "worse"
    assert c2rib_tables.verdict(91.08, 1.0, Figure(91.1)) == "better"


def test_a_pair_is_a_test_pair_if_a_compound_of_it_is_held_out(data_folder: Path) -> None:
    loaded = examples(data_folder, "QSARs", None)
    pairs = loaded.X[list(loaded.database.target.key)].to_numpy()
    held_out_at = np.zeros(len(pairs), int)
    for train, test in splits("QSARs", loaded, 0):
        assert sorted([*train, *test]) == list(range(len(pairs)))
        seen = set(pairs[train].ravel())
        assert all(not {first, second} <= seen for first, second in pairs[test])
        held_out_at[test] += 1
    assert set(held_out_at) == {1, 2}


def test_gene_functions_are_predicted_without_the_localization(data_folder: Path) -> None:
    name = "KDD Cup 2001, task 2"
    for task in DOMAINS[name].tasks[:2]:
        loaded = examples(data_folder, name, task)
        assert len(loaded.y) == 862
        assert list(loaded.X.columns) == ["gene"]
        assert set(loaded.database.tables["gene"].columns) & {"localization", "nucleus"} == set()
        assert {"gene_function", "gene_localization"} & set(loaded.database.tables) == set()


def test_trains_are_drawn_afresh_in_each_repetition(data_folder: Path) -> None:
    loaded = examples(data_folder, "Eastbound Trains", "trains1")
    draws = [split for seed in range(2) for split in splits("Eastbound Trains", loaded, seed)]
    assert {(len(train), len(test)) for train, test in draws} == {(55, 6)}
    assert len({tuple(sorted(test)) for _, test in draws}) == 16


def genes() -> Database:
    pd = pytest.importorskip("pandas")
    gene = pd.DataFrame({"gene": ["a", "b", "c", "d"], "label": ["1", "0", "1", "1"]})
    meets = pd.DataFrame({"first": ["a", "a", "c"], "second": ["b", "c", "c"]})
    complexes = pd.DataFrame({"gene": ["a", "b", "d", "d"], "complex": ["x", "x", "x", "y"]})
    return Database.from_frames(
        {"gene": gene, "meets": meets, "complexes": complexes},
        target="gene",
        key="gene",
        label="label",
        positive="1",
        foreign_keys=[("meets.first", "gene.gene"), ("meets.second", "gene.gene"), ("complexes.gene", "gene.gene")],
    )


def test_linked_labels_are_those_of_other_training_examples() -> None:
    database = genes()
    X, y = database.examples()
    found = with_linked_labels(database, X, {"good": np.asarray(y) == "1"}, np.array([0, 1, 2]))
    assert found["linked by meets"].tolist() == [2, 1, 1, 0]  # c meets itself, which tells c nothing
    assert found["good by meets"].tolist() == [1, 1, 1, 0]
    assert found["linked by complexes"].tolist() == [1, 1, 0, 2]  # d is a test example: nobody sees its label
    assert found["good by complexes"].tolist() == [0, 1, 0, 1]
    assert found["share of good by complexes"].tolist()[3] == 0.5
    assert np.isnan(found["share of good by complexes"].tolist()[2])


def test_no_example_sees_its_own_label_through_links() -> None:
    database = genes()
    X, y = database.examples()
    truth = np.asarray(y) == "1"
    everyone = np.arange(4)
    for k in range(4):
        other = truth.copy()
        other[k] = not other[k]
        rows = [
            with_linked_labels(database, X, {"good": labels}, everyone).drop(columns="gene").iloc[k]
            for labels in (truth, other)
        ]
        assert rows[0].equals(rows[1])


def test_options_are_chosen_by_the_training_examples_only(data_folder: Path) -> None:
    grid = {"one rule": {"rounds": 1, "max_literals": 1}, "bagged": {"rounds": 30, "bagged": 2}}
    found = choose_fit_and_test(data_folder, domain="breast-wisc", task=None, seed=0, fold=0, grid=grid, inner=2)
    assert found["chosen"] == "bagged"
    assert found["accuracy"] > 90
    again = choose_fit_and_test(
        data_folder, domain="breast-wisc", task=None, seed=0, fold=0, grid={"x": grid["bagged"]}, inner=2
    )
    assert again["accuracy"] == found["accuracy"]


def test_a_committee_takes_the_mean_of_its_members(data_folder: Path) -> None:
    where = {"domain": "KDD Cup 2001, task 2", "task": DOMAINS["KDD Cup 2001, task 2"].tasks[0], "seed": 0, "fold": 0}
    rules = {"rounds": 5, "linked_labels": True}
    trees = {"learner": "KBS", "rounds": 5, "linked_labels": "all"}
    grid = {"both": {"committee": [rules, trees]}}
    found = choose_fit_and_test(data_folder, **where, grid=grid, inner=2)
    assert found["auc"] > 0.7
    twice = choose_fit_and_test(data_folder, **where, grid={"same": {"committee": [rules, rules]}}, inner=2)
    assert twice["auc"] == choose_fit_and_test(data_folder, **where, grid={"one": rules}, inner=2)["auc"]


@pytest.mark.parametrize("learner", ["C²RIB", "LogitBoost", "KBS"])
def test_every_learner_takes_what_was_known_at_the_loans_date(learner: str, data_folder: Path) -> None:
    settings = {"learner": learner, "rounds": 3, "averaged": 2, "known": True, "aggregates": {"max_depth": 1}}
    where = {"domain": "PKDD loans, A", "task": "finished_good_vs_bad", "seed": 0, "fold": 0}
    found = choose_fit_and_test(data_folder, **where, grid={"x": settings}, inner=2)
    assert found["accuracy"] > 70
    assert found["n_test"] == 24


def test_claims_about_the_curves_are_read_from_the_curves() -> None:
    late = {"auc": [0.7, 0.8, 0.9], "squared_error": [0.3, 0.2, 0.1]}
    early = {"auc": [0.7, 0.9, 0.8], "squared_error": [0.3, 0.1, 0.2]}
    assert (
        "**Confirmed**: KBS has its largest AUC (0.900) after 2 rounds"
        in kbs_table.figure_claims({"ionosphere": {"KBS": early}})[0]
    )
    assert "**Not confirmed**" in kbs_table.figure_claims({"ionosphere": {"KBS": late}})[0]
    assert "**Not confirmed**" in kbs_table.figure_claims({"pima": {"KBS": early, "LogitBoost": early}})[0]
    assert "**Confirmed**" in kbs_table.figure_claims({"adult": {"KBS": late, "LogitBoost": late}})[0]


def c2rib_row(name: str, verdicts: tuple[str, str, str], scored_ratio: float) -> dict[str, object]:
    ours = {
        line: {"verdict": verdict} for line, verdict in zip(("C²RIB", "C²RIB^D", "our options"), verdicts, strict=True)
    }
    return {"row": name, "ours": ours, "time_ratio": 1.0, "scored_ratio": scored_ratio}


def test_the_headline_counts_rows_of_the_paper_only() -> None:
    rows = [
        c2rib_row("breast-wisc", ("better", "within one sd", "reached"), 0.5),
        c2rib_row("horse-colic", ("better", "worse", "below"), 0.7),
        c2rib_row("QSARs, split by pair", ("worse", "worse", "below"), 0.1),
    ]
    text = results.headline([{"table": "c2rib-3", "rows": rows}, {"table": "kbs-1", "rows": []}])
    assert "or better in 1 of 2 rows" in text
    assert "best published figure of any system in 1 of 2 rows: breast-wisc." in text
    assert "in 0 of 2 rows, and scores at most 0.6 times as many clauses in 1." in text
    assert results.headline([{"table": "kbs-1", "rows": []}]) == ""


def test_the_published_ranking_figures_agree_with_the_papers_text() -> None:
    # "RankBoost outperforms PRankBoost.Clause when comparing AUROC on three of the four data sets"
    assert sum(rankboost[0] > clause[0] for rankboost, clause in PRANKBOOST.values()) == 3
    # "when comparing AURPC the difference [...] is large. PRankBoost.Clause outperforms RankBoost on three of the four
    # data sets"
    gains = {name: clause[2] - rankboost[2] for name, (rankboost, clause) in PRANKBOOST.items()}
    assert sum(gain > 10 for gain in gains.values()) == 3
    assert min(gains, key=lambda name: gains[name]) == "Protein Localization"


@pytest.mark.parametrize(
    ("gain", "p", "word"), [(0.05, 0.01, "confirmed"), (-0.05, 0.01, "refuted"), (0.05, 0.2, "open")]
)
def test_the_ranking_claim_is_settled_by_its_test(gain: float, p: float, word: str) -> None:
    row = {"data_set": "x", "learner": "Clause", "folds": 5, "gain": gain, "p": 0.001, "p_corrected": p, "folds_won": 3}
    (told,) = results.ranking_claims([row, row | {"learner": "Path"}])
    assert told.startswith(f"x: **{word}**")


def assert_tables_are_rectangular(text: str) -> None:
    before = 0
    for line in text.splitlines():
        cells = line.count("|")
        assert 0 in (before, cells) or cells == before, line
        before = cells


@pytest.mark.parametrize("name", list(TABLES))
def test_a_quick_run_fills_every_row(name: str, data_folder: Path, tmp_path: Path) -> None:
    content = reproduce(name, data_folder, quick=True, cache=tmp_path)
    assert content["table"] == name
    json.dumps(content)
    text = TABLES[name].markdown(content)
    assert text.startswith("## ")
    assert_tables_are_rectangular(text)
    for row in content.get("rows", ()):
        assert row["data_set" if name == "prankboost-2" else "row"] in text


def test_the_command_writes_markdown_and_json(data_folder: Path, tmp_path: Path) -> None:
    arguments = ["c2rib-5", "--quick", "--data", str(data_folder), "--cache", str(tmp_path), "--jobs", "1"]
    result = runner.invoke(app, [*arguments, "--output", str(tmp_path / "results.md"), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)[0]["rows"][0]["row"] == "Mutagenicity"
    assert "| Mutagenicity |" in (tmp_path / "results.md").read_text(encoding="utf-8")


def test_the_page_shows_the_curves_as_pictures(data_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    content = reproduce("kbs-1", data_folder, quick=True, cache=tmp_path, n_jobs=1)
    write_page(tmp_path / "results.md", [content])
    assert "![kbs_pima](images/kbs_pima.svg)" in (tmp_path / "results.md").read_text(encoding="utf-8")
    drawn = (tmp_path / "images" / "kbs_pima.svg").read_bytes()
    write_page(tmp_path / "results.md", [content])
    assert (tmp_path / "images" / "kbs_pima.svg").read_bytes() == drawn


def test_the_list_names_every_table() -> None:
    result = runner.invoke(app, ["--list"])
    assert result.exit_code == 0
    assert all(name in result.stdout for name in TABLES)


def test_an_unknown_table_is_named_with_the_way_out() -> None:
    with pytest.raises(DataError, match=r"there is no table 'c2rib-33'.*did you mean 'c2rib-3'.*--list"):
        runner.invoke(app, ["c2rib-33"], catch_exceptions=False)


def test_the_page_of_results_holds_the_texts_of_its_writer() -> None:
    page = (Path(__file__).parents[1] / "docs" / "results.md").read_text(encoding="utf-8")
    notes = [results.C2RIB_NOTE, results.EVOLUTION_NOTE, results.EVOLUTION_WHY, results.KBS_NOTE, results.RANKING_NOTE]
    assert [note for note in [*notes, mlynx_table.NOTE, mlynx_table.REASON] if note not in page] == []
    assert results.HEAD.splitlines()[3] in page
    assert all(table.title in page for table in TABLES.values())

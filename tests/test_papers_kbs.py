from __future__ import annotations

import json
import os

import numpy as np
import pytest

from benchmarks.papers import kbs


def folder() -> str:
    data = os.environ.get("HORNBOOST_DATA")
    if not data:
        pytest.skip("set HORNBOOST_DATA to the folder of data sets to repeat the paper's tables")
    return data


def test_quick_table_puts_accuracies_beside_the_papers():
    rows = kbs.table1(
        folder(), seeds=[0], quick=True, data_sets=["hepatitis, histology"], only=["tree", "KBS, defaults"]
    )["hepatitis, histology"]
    assert list(rows) == ["tree", "KBS, defaults"]
    assert rows["tree"]["paper"] == 60.65
    assert 45 < rows["KBS, defaults"]["accuracy"] < 75
    json.dumps(rows)


def test_curves_hold_a_value_for_each_round_and_are_drawn(tmp_path):
    curves = kbs.figures(folder(), data_sets=["pima"], rounds=4, quick=True)
    for algorithm in ("KBS", "LogitBoost"):
        assert len(curves["pima"][algorithm]["auc"]) == 4
        assert 0.7 < curves["pima"][algorithm]["auc"][-1] < 0.9
        assert np.diff(curves["pima"][algorithm]["squared_error"]).max() < 0.02
    (path,) = kbs.draw(curves, tmp_path)
    assert path.read_text().lstrip().startswith("<?xml")


def test_german_credit_and_cmc_reach_the_papers_accuracies_with_the_defaults():
    result = kbs.table1(folder(), seeds=range(100, 105), data_sets=["german-credit", "cmc"], only=["KBS, defaults"])
    assert result["german-credit"]["KBS, defaults"]["accuracy"] >= 73.4
    assert result["cmc"]["KBS, defaults"]["accuracy"] >= 53.0

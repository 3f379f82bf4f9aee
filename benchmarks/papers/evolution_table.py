"""Table 2 of Hoche and Wrobel 2003, on feature set evolution.

C²RIB^D and V1 to V16 on six domains, and a test of its conclusion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.c2rib_runs import fit_and_test
from benchmarks.papers.domains import DOMAINS
from benchmarks.papers.protocol import Job, Result, mean_and_deviation
from benchmarks.papers.published import EVOLUTION, EVOLUTION_DOMAINS

TITLE = "Sixteen strategies of feature set evolution (Hoche and Wrobel 2003, Table 2)"
BASELINE = "C²RIB^D"

# the paper's name → ours, and repetitions
ROWS: Mapping[str, tuple[str, int]] = {
    "KDD01": ("KDD Cup 2001, task 2", 1),
    "Mutagenicity": ("Mutagenicity", 5),
    "PKDD-A": ("PKDD loans, A", 5),
    "PKDD-C": ("PKDD loans, AC", 3),
    "QSARs": ("QSARs", 2),
    "Trains": ("Eastbound Trains", 10),
}

GROUPS: Mapping[str, tuple[str, ...]] = {
    "remaining features, misclassified examples, add 1": ("V2", "V4", "V10"),
    "all features, all examples, substitute": ("V5", "V7", "V15"),
}


def jobs(data: Path, quick: bool) -> list[Job]:
    """Every fit: T = 50, T_l = 10 for the baseline and 3 for the strategies, as in the paper."""
    listed = []
    for domain, repetitions in ROWS.values():
        for seed in range(1 if quick else repetitions):
            for fold in range(1 if quick else DOMAINS[domain].n_splits):
                for task in DOMAINS[domain].tasks[: 1 if quick else None]:
                    for strategy in EVOLUTION:
                        features = "margin" if strategy == BASELINE else strategy
                        settings = {"features": features, "rounds": 10 if quick else 50}
                        where = {"domain": domain, "task": task, "seed": seed, "fold": fold}
                        listed.append(Job(fit_and_test, where | {"settings": settings}, data))
    return listed


def summary(listed: Sequence[Job], results: Sequence[Result]) -> dict[str, Any]:
    """Accuracy and requested features of each strategy on each domain,
    the records against the baseline, and the tests.
    """
    runs: dict[str, dict[str, list[Result]]] = {strategy: {name: [] for name in ROWS} for strategy in EVOLUTION}
    names = {domain: name for name, (domain, _) in ROWS.items()}
    for job, result in zip(listed, results, strict=True):
        features = job.arguments["settings"]["features"]
        runs[BASELINE if features == "margin" else features][names[job.arguments["domain"]]].append(result)
    ours = {strategy: {name: _figures(found) for name, found in by_name.items()} for strategy, by_name in runs.items()}
    accuracies = {
        strategy: [by_name[name]["accuracy"] for name in EVOLUTION_DOMAINS] for strategy, by_name in ours.items()
    }
    printed = {strategy: [figures[0] for figures in EVOLUTION[strategy]] for strategy in EVOLUTION}
    return {
        "table": "evolution-2",
        "title": TITLE,
        "ours": ours,
        "record": {strategy: record(accuracies[strategy], accuracies[BASELINE]) for strategy in EVOLUTION},
        "published_record": {strategy: record(printed[strategy], printed[BASELINE]) for strategy in EVOLUTION},
        "mean_rank": mean_ranks(accuracies),
        "published_mean_rank": mean_ranks(printed),
        "tests": _tests(runs, accuracies) | {"published_friedman_p": friedman(printed)},
    }


def record(accuracies: Sequence[float], baseline: Sequence[float]) -> tuple[int, int, int]:
    """Wins, losses and ties over the domains; equal to two decimals is a tie, as printed.

    >>> record([90.0, 80.0, 70.001], [89.0, 81.0, 70.0])
    (1, 1, 1)
    """
    differences = [round(ours, 2) - round(theirs, 2) for ours, theirs in zip(accuracies, baseline, strict=True)]
    return sum(d > 0 for d in differences), sum(d < 0 for d in differences), sum(d == 0 for d in differences)


def mean_ranks(accuracies: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Each strategy's rank (1 is best, ties share), averaged over the domains.

    >>> mean_ranks({"a": [90.0, 70.0], "b": [80.0, 70.0]})
    {'a': 1.25, 'b': 1.75}
    """
    from scipy.stats import rankdata

    ranks = rankdata(-np.round(np.array(list(accuracies.values())), 2), axis=0)
    return {strategy: float(rank) for strategy, rank in zip(accuracies, ranks.mean(axis=1), strict=True)}


def friedman(accuracies: Mapping[str, Sequence[float]]) -> float:
    """p of "all strategies are alike", by their ranks on the domains."""
    from scipy.stats import friedmanchisquare

    return float(friedmanchisquare(*accuracies.values()).pvalue)


def _figures(found: Sequence[Result]) -> dict[str, float]:
    """Means and deviations over all tests of a domain, as in the paper,
    whose deviation on KDD01 is one over functions.
    """
    accuracy, deviation = mean_and_deviation(result["accuracy"] for result in found)
    features, features_deviation = mean_and_deviation(result["features"] for result in found)
    seconds = fmean(result["seconds"] for result in found)
    return {
        "accuracy": accuracy,
        "deviation": deviation,
        "features": features,
        "features_deviation": features_deviation,
        "seconds": seconds,
    }


def _tests(runs: Mapping[str, Mapping[str, list[Result]]], accuracies: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Do the strategies differ at all (Friedman), and does the recommended group beat
    the baseline and the discouraged group (Wilcoxon)?

    The unit of the Friedman test is a domain; that of the Wilcoxon tests a test set, on which all strategies were
    tried. Test sets of one domain are alike, so the domains that agree are counted as well.
    """
    from scipy.stats import wilcoxon

    def of(group: Sequence[str]) -> list[NDArray[np.float64]]:
        return [
            np.mean([[result["accuracy"] for result in runs[strategy][name]] for strategy in group], axis=0)
            for name in ROWS
        ]

    best_group, worst_group = (of(group) for group in GROUPS.values())
    baseline = of([BASELINE])
    tests: dict[str, Any] = {"friedman_p": friedman(accuracies)}
    for name, first, second in (
        ("recommended_over_baseline", best_group, baseline),
        ("recommended_over_discouraged", best_group, worst_group),
        ("baseline_over_discouraged", baseline, worst_group),
    ):
        by_domain = [ours - theirs for ours, theirs in zip(first, second, strict=True)]
        difference = np.concatenate(by_domain)
        p = float(wilcoxon(difference, alternative="greater").pvalue) if np.any(difference != 0) else 1.0
        means = {domain: float(values.mean()) for domain, values in zip(ROWS, by_domain, strict=True)}
        tests[name] = {"difference": float(difference.mean()), "p": p, "n": len(difference), "by_domain": means}
    return tests


def conclusion(content: Mapping[str, Any]) -> list[str]:
    """The verdict on the paper's conclusion, a sentence a claim.

    It holds if the test says so and most of the domains do.
    """
    tests, ranks = content["tests"], content["mean_rank"]
    order = sorted(ranks, key=lambda strategy: float(ranks[strategy]))
    group, other = GROUPS
    together = f"All {len(ranks)} together: Friedman's test over the six domains has p = {tests['friedman_p']:.3f}; "
    sentences = [together + f"on the paper's own figures p = {tests['published_friedman_p']:.3f}."]
    for claim, name in (
        (f'"{group}" (V2, V4, V10) is better than the baseline', "recommended_over_baseline"),
        (f'"{group}" is better than "{other}" (V5, V7, V15)', "recommended_over_discouraged"),
        (f'"{other}" is worse than the baseline', "baseline_over_discouraged"),
    ):
        found = tests[name]
        better = [domain for domain, mean in found["by_domain"].items() if round(mean, 2) > 0]
        is_so = found["p"] < 0.05 and len(better) > len(found["by_domain"]) / 2
        sentences.append(
            f"{claim}: **{'confirmed' if is_so else 'not confirmed'}** ({found['difference']:+.2f} points "
            f"over {found['n']} test sets, "
            f"one-sided Wilcoxon p = {found['p']:.2g}; so on {len(better)} of {len(found['by_domain'])} domains: "
            + ", ".join(f"{domain} {mean:+.2f}" for domain, mean in found["by_domain"].items())
            + ")."
        )
    places = {strategy: order.index(strategy) + 1 for strategy in ranks}
    sentences.append(
        f"Best by mean rank: {', '.join(order[:3])}; worst: {', '.join(order[-3:])}. "
        f"V2, V4 and V10 are in places {places['V2']}, {places['V4']} and {places['V10']} of {len(ranks)}, "
        f"V15 is in place {places['V15']}."
    )
    return sentences

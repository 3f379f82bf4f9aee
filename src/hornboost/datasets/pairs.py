"""Very skewed pairs: which of the persons of a laboratory advises which,
among a few hundred times as many that do not.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hornboost.datasets.draws import Ints, Mask, label_column, nominal
from hornboost.datasets.generated import NOMINAL, NUMERIC, Generated, Plan, check_sizes, key
from hornboost.errors import DataError

PLAN = Plan(
    name="skewed_pairs",
    title="Who advises whom",
    target="pair",
    key=("person1", "person2"),
    label="advised",
    tables={
        "pair": {"person1": key("person"), "person2": key("person"), "advised": NOMINAL},
        "person": {"person": key("person"), "position": NOMINAL, "years": NUMERIC},
        "publication": {"title": key("title"), "person": key("person"), "role": NOMINAL, "year": NUMERIC},
        "taught_by": {"course": key("course"), "person": key("person"), "level": NOMINAL, "year": NUMERIC},
        "ta": {"course": key("course"), "person": key("person"), "hours": NUMERIC},
        "meeting": {
            "person1": key("person"),
            "person2": key("person"),
            "kind": NOMINAL,
            "place": NOMINAL,
            "minutes": NUMERIC,
        },
    },
    primary_keys={"pair": ("person1", "person2"), "person": ("person",)},
    foreign_keys=(
        ("pair.person1", "person.person"),
        ("pair.person2", "person.person"),
        ("publication.person", "person.person"),
        ("taught_by.person", "person.person"),
        ("ta.person", "person.person"),
        ("meeting.person1", "person.person"),
        ("meeting.person2", "person.person"),
    ),
    rules=(
        (
            'advised="1" :- pair(person1=A, person2=B), publication(title=T, person=A, role="first"), '
            'publication(title=T, person=B, role="last", year>=2015).'
        ),
        (
            'advised="1" :- pair(person1=A, person2=B), ta(course=C, person=A, hours>=12, hours<=14), '
            "taught_by(course=C, person=B)."
        ),
        (
            'advised="1" :- pair(person1=A, person2=B), meeting(person1=A, person2=B, kind="private", '
            'place="office", minutes>=45).'
        ),
    ),
)

PersonPairs = tuple[Ints, Ints]

_LAB = 10
"""Persons of a laboratory; a pair is always of one laboratory."""

_POOL = 1.25
"""Possible pairs for each pair that is kept."""


def skewed_pairs(n: int, skew: int = 150, related: int = 10, noise: float = 0.0, seed: int = 0) -> Generated:
    """Generate pairs of persons, very few of them positive, and rows about the persons.

    Parameters
    ----------
    n : int
        The number of pairs.
    skew : int
        The negative pairs to one positive pair, 100 to 500.
    related : int
        About `n * related` rows are about the persons.
    noise : float
        The share of the positives that are relabelled negative, and as many negatives positive: the skew stays.
    seed : int
        The seed; the same seed gives the same data.

    Returns
    -------
    Generated
        The tables and the planted rules.

    Examples
    --------
    >>> data = skewed_pairs(3020, skew=150)
    >>> int(data.labels.sum()), data.tables["pair"].num_rows
    (20, 3020)
    """
    check_sizes("skewed_pairs", noise, n=n, related=related)
    if not 100 <= skew <= 500:
        raise DataError(f"The 'skew' parameter of skewed_pairs must be an int in [100, 500]. Got {skew!r} instead.")
    if n <= skew:
        raise DataError(
            f"The 'n' parameter of skewed_pairs must be above skew={skew}, for one positive pair at least. "
            f"Got {n!r} instead."
        )
    rng = np.random.default_rng([seed, 5])
    # twenty laboratories more than needed, so that small samples have their positives too
    labs = 20 + int(_POOL * n) // (_LAB * (_LAB - 1))
    persons = labs * _LAB
    possible = persons * (_LAB - 1)
    rows = n * related
    publication, written = _publications(rng, *_partners(rng, labs, int(0.1 * possible), int(0.2 * rows)))
    taught_by, ta, assisted = _courses(rng, *_partners(rng, labs, int(0.05 * possible), int(0.15 * rows)))
    meeting, met = _meetings(rng, *_partners(rng, labs, int(0.1 * possible), int(0.3 * rows)))

    truth = np.zeros(labs * _LAB * _LAB, dtype=np.bool_)
    for person1, person2 in (written, assisted, met):
        same_lab = person1 // _LAB == person2 // _LAB
        truth[_pair_number(person1[same_lab], person2[same_lab])] = True
    chosen, labels = _sample(rng, truth, n, skew, noise)
    person1 = chosen // _LAB
    person2 = person1 - person1 % _LAB + chosen % _LAB
    return Generated(
        PLAN,
        {
            "pair": pa.table({"person1": person1 + 1, "person2": person2 + 1, "advised": label_column(labels)}),
            "person": pa.table(
                {
                    "person": np.arange(1, persons + 1),
                    "position": nominal(
                        rng, {"student": 0.5, "postdoc": 0.2, "professor": 0.2, "staff": 0.1}, persons
                    ).arrow(),
                    "years": rng.integers(1, 31, size=persons),
                }
            ),
            "publication": publication,
            "taught_by": taught_by,
            "ta": ta,
            "meeting": meeting,
        },
    )


def _partners(rng: np.random.Generator, labs: int, inside: int, total: int) -> PersonPairs:
    """Ordered pairs of distinct persons.

    `inside` of them within a laboratory, the rest up to `total` between any two persons.
    """
    persons = labs * _LAB
    across = max(0, total - inside)
    first = rng.integers(0, persons, size=inside + across)
    step = rng.integers(1, _LAB, size=inside)
    lab = first[:inside] - first[:inside] % _LAB
    colleague = lab + (first[:inside] + step) % _LAB
    stranger = (first[inside:] + rng.integers(1, persons, size=across)) % persons
    order = rng.permutation(len(first))
    return first[order], np.concatenate([colleague, stranger])[order]


def _publications(rng: np.random.Generator, author: Ints, coauthor: Ints) -> tuple[pa.Table, PersonPairs]:
    """Titles of two authors each, and the pairs of which the first rule holds."""
    titles = len(author)
    title = np.tile(np.arange(titles), 2)
    person = np.concatenate([author, coauthor])
    other = np.concatenate([coauthor, author])
    year = np.tile(rng.integers(2000, 2022, size=titles), 2)
    role = nominal(rng, {"first": 0.35, "middle": 0.3, "last": 0.35}, 2 * titles)
    last = role.equals("last") & (year >= 2015)
    of_other = np.roll(last, titles)
    hit = role.equals("first") & of_other
    table = pa.table({"title": title + 1, "person": person + 1, "role": role.arrow(), "year": year})
    return table, (person[hit], other[hit])


def _courses(rng: np.random.Generator, assistant: Ints, teacher: Ints) -> tuple[pa.Table, pa.Table, PersonPairs]:
    """Courses of one teacher and one assistant each, and the pairs of which the second rule holds."""
    courses = len(teacher)
    course = np.arange(1, courses + 1)
    level = nominal(rng, {"basic": 0.5, "advanced": 0.35, "seminar": 0.15}, courses)
    hours = rng.integers(1, 21, size=courses)
    taught_by = pa.table(
        {
            "course": course,
            "person": teacher + 1,
            "level": level.arrow(),
            "year": rng.integers(2000, 2022, size=courses),
        }
    )
    ta = pa.table({"course": course, "person": assistant + 1, "hours": hours})
    hit = (hours >= 12) & (hours <= 14)
    return taught_by, ta, (assistant[hit], teacher[hit])


def _meetings(rng: np.random.Generator, person1: Ints, person2: Ints) -> tuple[pa.Table, PersonPairs]:
    """Meetings of two persons, and the pairs of which the third rule holds."""
    size = len(person1)
    kind = nominal(rng, {"private": 0.35, "group": 0.45, "seminar": 0.2}, size)
    place = nominal(rng, {"office": 0.4, "laboratory": 0.3, "online": 0.3}, size)
    minutes = 5 * rng.integers(3, 15, size=size)
    hit = kind.equals("private") & place.equals("office") & (minutes >= 45)
    table = pa.table(
        {
            "person1": person1 + 1,
            "person2": person2 + 1,
            "kind": kind.arrow(),
            "place": place.arrow(),
            "minutes": minutes,
        }
    )
    return table, (person1[hit], person2[hit])


def _pair_number(person1: Ints, person2: Ints) -> Ints:
    """Number of a pair within a laboratory, from 0."""
    return person1 * _LAB + person2 % _LAB


def _sample(rng: np.random.Generator, truth: Mask, n: int, skew: int, noise: float) -> tuple[Ints, Mask]:
    """`n` possible pairs at the exact skew in random order, and their labels with noise."""
    number = np.arange(len(truth))
    possible = number // _LAB % _LAB != number % _LAB
    positives = max(1, round(n / (1 + skew)))
    wrong = round(noise * positives)
    of_rule = rng.choice(number[possible & truth], size=positives, replace=False)
    others = rng.choice(number[possible & ~truth], size=n - positives, replace=False)
    labels = np.arange(n) < positives
    labels[:wrong] = False
    labels[positives : positives + wrong] = True
    order = rng.permutation(n)
    return np.concatenate([of_rule, others])[order], labels[order]

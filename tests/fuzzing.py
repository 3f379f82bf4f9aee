"""Mutations of valid input, all from a seed: of bytes, and of parsed JSON."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

BUDGET = float(os.environ.get("HORNBOOST_FUZZ", "1"))
"""How many times the cases of a usual run are tried; set HORNBOOST_FUZZ=100 for a long one."""

HOSTILE_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 10**30, 10**400, -(10**400), 1.5, 1e308, -1e-320, "", "x", "0", "1", " ", "\x00",
    "\ud800", "é", "inf",
    "nan", "__class__", "a" * 3000, [], [0], [[]], [None], ["x"], [1e308], {}, {"": 0}, {"name": "x"},
    {"a": {"b": {"c": []}}},
)  # fmt: skip
TOKENS = (
    b"", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\n", b"\r", b"\r\n", b"\t", b" ", b"'", b'"', b'""', b"\\", b"\\x",
    b"\\x0\\",
    b",", b",,",
    b".", b". .", b"(", b")", b"[", b"]", b"{", b"}", b"=", b"#", b"%", b"?", b":-", b"+", b"-", b"@data",
    b"@attribute a numeric\n",
    b"NA", b"nan", b"inf", b"-inf", b"infinity", b"1e999", b"99999999999999999999", b"0x1", b"1.5", b"007", b"true",
    b"2020-02-30",
    b"9999-12-31", b"10000-01-01", b"\xe2\x80\xa8", b"\xf0\x9f\x98\x80", b"a" * 5000, b"[[folds]]\n",
    b"file = \"..\"\n", b"[" * 200,
)  # fmt: skip

CSV = (
    b'id,other,when,amount,kind,label\n1,a,2020-01-01,1.5,"x, '
    b'y",yes\n2,b,2020-01-02,2.5,z,no\n3,a,,,x,yes\n4,,2021-01-01,NA,x,no\n'
)
OTHER = b"other,size\na,1\na,2\nb,9007199254740993\n"
SCHEMA = b"""name = "fuzz"
[target]
table = "main"
key = ["id"]
label = "label"
positive = "yes"
where = { kind = ["x", "z", "x, y"] }
[[folds]]
name = "f"
column = "main.kind"
[tables.main]
file = "main.csv"
primary_key = ["id"]
rows = 4
columns = [
  { name = "id", type = "key" },
  { name = "other", type = "key", domain = "other" },
  { name = "when", type = "date" },
  { name = "amount", type = "nominal" },
  { name = "kind", type = "nominal" },
  { name = "label", type = "nominal" },
]
[tables.other]
columns = [{ name = "other", type = "key", domain = "other" }, { name = "size", type = "numeric" }]
[[foreign_keys]]
from = "main.other"
to = "other.other"
"""
ARFF = b"""@relation 'a b'
% comment
@attribute n numeric
@attribute colour {red, 'sea, deep', "x"}
@attribute seen date "yyyy-MM-dd"
@attribute class {yes, no}
@data
1, red, 2020-01-01, yes
?, 'sea, deep', ?, no
3, x, 2020-01-03, yes
"""
SPARSE = (
    b"@relation r\n@attribute n numeric\n@attribute colour {red, blue}\n@attribute class {yes, no}\n@data\n{0 "
    b"1}\n{0 2, 2 no}\n{1 blue}\n"
)
BACKGROUND = b""":- modeh(1, good(+thing)).
:- modeb(*, part(+thing, -part)).
:- modeb(1, weight(+part, #float)).
:- modeb(1, name(+part, #name)).
% facts
part(t1, p1). part(t2, p2). part(t3, p3).
weight(p1, 1.5). weight(p2, -2.5e3).
name(p1, 'a\\nb'). name(p2, "it""s"). name(p3, 'c\\x41\\d'). /* end */
"""
MODES = b'// modes\nimport: "more.txt".\nmode: part(+thing, -part).\nweight(+part, #float).\nname(+part, #name).\n'
FACTS = BACKGROUND.partition(b"% facts\n")[2]


def cases(n: int) -> range:
    """The seeds of a test that tries n cases in a usual run."""
    return range(max(1, round(n * BUDGET)))


def mutated(content: bytes, seed: int, tokens: Sequence[bytes] = TOKENS) -> bytes:
    """The content with one to four small changes."""
    rng = np.random.default_rng(seed)
    for _ in range(int(rng.integers(1, 5))):
        at, end = sorted(int(place) for place in rng.integers(0, len(content) + 1, 2))
        end = min(end, at + int(rng.choice([0, 1, 4, 40, 400])))
        token = tokens[int(rng.integers(len(tokens)))]
        kind = int(rng.integers(6))
        if kind == 0:
            content = content[:at] + token + content[at:]
        elif kind == 1:
            content = content[:at] + token + content[end:]
        elif kind == 2:
            content = content[:at] + content[end:]
        elif kind == 3:
            content = content[:at] + content[at:end] * 2 + content[end:]
        elif kind == 4 and content:
            at = min(at, len(content) - 1)
            content = content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :]
        else:
            content = content[:at]
    return content


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values in parsed JSON."""
    yield way
    if isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[step], (*way, step))


def forged(content: Any, seed: int) -> Any:
    """Parsed JSON with one to three of its values replaced, removed or doubled."""
    rng = np.random.default_rng(seed)
    content = copy.deepcopy(content)
    for _ in range(int(rng.integers(1, 4))):
        ways = list(places(content))[1:]
        if not ways:
            return content
        way = ways[int(rng.integers(len(ways)))]
        at = content
        for step in way[:-1]:
            at = at[step]
        kind = int(rng.integers(5))
        if kind == 0:
            del at[way[-1]]
        elif kind == 1 and isinstance(at, list):
            at.append(copy.deepcopy(at[way[-1]]))
        elif kind == 2 and isinstance(at, dict):
            at[str(HOSTILE_VALUES[int(rng.integers(13, 23))])] = at.pop(way[-1])
        elif kind == 3 and isinstance(at[way[-1]], str):
            at[way[-1]] = mutated(at[way[-1]].encode("utf-8", "surrogatepass"), int(rng.integers(2**32))).decode(
                "utf-8", "replace"
            )
        else:
            at[way[-1]] = copy.deepcopy(HOSTILE_VALUES[int(rng.integers(len(HOSTILE_VALUES)))])
    return content

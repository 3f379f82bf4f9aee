r"""Clauses as text: `head :- literal, ..., A != B.`, parsed and printed so that each undoes the other.

The head is `label="value"`, or of a number `label += 3.2`, `label -= 3.2` or `label *= 1.3`.

Names and constants share the double quotes, since a constant stands only after an operator and a name only before one.
A name that is an identifier other than `is` and `missing` may go without them. A variable is an unquoted name that
starts with an upper-case letter. Within quotes, `\"`, `\\`, `\n`, `\r`, `\t`, `\uXXXX` and `\UXXXXXXXX` have their
usual meaning. `column!="value"` is a test on a column, `A != B` a condition on two variables, which stands outside of
literals. The bound of an age is a length of time, `age<=90d`. A test may look at an aggregate:
`function(table.table.column where column="constant", age<=90d)`, in which a table may be followed by the keys that lead
to it, `[column=column]`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import NoReturn

from hornboost.errors import ClauseError, did_you_mean
from hornboost.logic.aggregate import FUNCTIONS, ROWS, SPREAD, Aggregate, Operand, TableStep
from hornboost.logic.clause import Clause, Head, Literal, Op, Test
from hornboost.logic.duration import UNITS, duration_text, microseconds_of
from hornboost.logic.moment import is_moment

MOST_LITERALS = 500
"""More than any rule has that a person could read,
and few enough for functions that follow one literal after the other."""

_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*")
      | (?P<duration>[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:d|h|min|s)\b)
      | (?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]inf\b)
      | (?P<name>[^\W\d]\w*)
      | (?P<symbol>:-|!=|>=|<=|\+=|-=|\*=|[=(),.\[\]])
      | (?P<space>\s+)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"[^\W\d]\w*")
_KEYWORDS = frozenset({"is", "missing"})
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPED = {character: "\\" + letter for letter, character in _ESCAPES.items()}


def print_clause(clause: Clause) -> str:
    """The text of a clause, on one line."""
    goals = [print_literal(literal) for literal in clause.body]
    goals += [f"{left} != {right}" for left, right in clause.unequal]
    return f"{print_head(clause.head)} :- {', '.join(goals)}."


def print_head(head: Head) -> str:
    if head.op == "=":
        return f"{_print_name(head.label)}={_quote(head.value)}"
    op, value = ("-=", head.value[1:]) if head.op == "+=" and head.value.startswith("-") else (head.op, head.value)
    return f"{_print_name(head.label)} {op} {value}"


def print_literal(literal: Literal) -> str:
    arguments = [f"{_print_name(column)}={variable}" for column, variable in literal.bindings]
    arguments += [print_test(test) for test in literal.tests]
    return f"{_print_name(literal.table)}({', '.join(arguments)})"


def print_test(test: Test) -> str:
    if test.op == "missing":
        return f"{print_operand(test.column)} is missing"
    if not isinstance(test.value, str):
        value = print_number(test.value)
    else:
        value = _quote(test.value) if test.duration is None else test.value
    return f"{print_operand(test.column)}{test.op}{value}"


def print_operand(operand: Operand) -> str:
    return _print_name(operand) if isinstance(operand, str) else print_aggregate(operand)


def print_aggregate(aggregate: Aggregate) -> str:
    parts = [print_path(aggregate.path), *([] if aggregate.column is None else [_print_name(aggregate.column)])]
    conditions = []
    if aggregate.where is not None:
        conditions.append(f"{_print_name(aggregate.where[0])}={_quote(aggregate.where[1])}")
    if aggregate.within is not None:
        age, length = aggregate.within
        conditions.append(f"{_print_name(age)}<={length if isinstance(length, str) else print_number(length)}")
    where = f" where {', '.join(conditions)}" if conditions else ""
    return f"{aggregate.function}({'.'.join(parts)}{where})"


def print_path(path: Sequence[TableStep]) -> str:
    """The tables of a path, with the keys that it names.

    >>> print_path([TableStep("account"), TableStep("my trans", ("id", "from"))])
    'account."my trans"[id=from]'
    """
    keys = ["" if step.keys is None else f"[{'='.join(map(_print_name, step.keys))}]" for step in path]
    return ".".join(_print_name(step.table) + shown for step, shown in zip(path, keys, strict=True))


def print_number(value: float | None) -> str:
    """The shortest text that reads back as the same float.

    >>> print_number(3.0), print_number(0.1), print_number(1e300)
    ('3', '0.1', '1e+300')
    """
    if value is None:
        raise ClauseError("a test with '>=' or '<=' needs a number, an ISO date or a length of time as its value")
    return repr(float(value)).removesuffix(".0")


def in_few_digits(value: float) -> str:
    """A number as a head shows it: four digits, and all of those before the point.

    >>> in_few_digits(0.0123456), in_few_digits(-123456.7), in_few_digits(2.0)
    ('0.01235', '-123457', '2')
    """
    exponent = int(f"{value:e}".split("e")[1])
    return print_number(round(value, max(0, 3 - exponent)))


@lru_cache(maxsize=4096)
def _print_name(name: str) -> str:
    return name if _NAME.fullmatch(name) and name not in _KEYWORDS else _quote(name)


def _quote(text: str) -> str:
    return '"' + "".join(map(_print_character, text)) + '"'


def _print_character(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def parse_clause(text: str) -> Clause:
    """The clause that `text` spells.

    >>> text = 'good="1" :- loan(account=A, "paid on">="1998-01-01"), card(account=A, kind is missing).'
    >>> parse_clause(text).body[1].tests
    (Test(column='kind', op='missing', value=None),)
    """
    return _Parser(text).clause()


def parse_aggregate(text: str) -> Aggregate:
    """The aggregate that `text` spells.

    >>> parse_aggregate('count(trans where type="in")').where
    ('type', 'in')
    """
    return _Parser(text).aggregate()


class _Parser:
    """Recursive descent over the tokens of one clause; `kind`, `token` and `position` describe the next token."""

    def __init__(self, text: str) -> None:
        matches = [match for match in _TOKEN.finditer(text) if match.lastgroup != "space"]
        self._tokens = [(str(match.lastgroup), match.group(), match.start()) for match in matches]
        self._tokens.append(("end", "", len(text.rstrip())))
        self._next = 0

    @property
    def kind(self) -> str:
        return self._tokens[self._next][0]

    @property
    def token(self) -> str:
        return self._tokens[self._next][1]

    @property
    def position(self) -> int:
        return self._tokens[self._next][2] + 1

    def clause(self) -> Clause:
        head = self._head()
        self._expect(":-", "':-' after the head")
        body: list[Literal] = []
        unequal: list[tuple[str, str]] = []
        places: dict[str, int] = {}
        while True:
            if self._tokens[min(self._next + 1, len(self._tokens) - 1)][1] == "!=":
                unequal.append(self._inequality(places))
            else:
                body.append(self._literal())
            if self.token != ",":
                break
            self._next += 1
        self._expect(".", "',' or the final '.'")
        if self.kind != "end":
            self._fail("the end of the text after the final '.'")
        if not body:
            raise ClauseError(
                "the clause has no literal; write at least the target table's, as in 'class=\"1\" :- examples().'"
            )
        if len(body) > MOST_LITERALS:
            raise ClauseError(
                f"the clause has {len(body):,} literals, and at most {MOST_LITERALS} can be followed; "
                "split it into several"
            )
        clause = Clause(head, tuple(body), tuple(unequal))
        for variable in sorted(places.keys() - set(clause.variables), key=places.__getitem__):
            raise ClauseError(
                f"clause, position {places[variable]}: the variable {variable} is bound to no column; "
                "bind it in a literal"
            )
        return clause

    def _head(self) -> Head:
        label = self._name("the label column")
        if self.token in ("+=", "-=", "*="):
            return self._change(label, self._take())
        self._expect("=", f"'=' after the label '{label}'")
        if self.kind != "string":
            self._fail("the predicted value in double quotes")
        return Head(label, self._string())

    def _change(self, label: str, operator: str) -> Head:
        """What a clause adds to a number, or multiplies it by."""
        if self.kind != "number" or not isfinite(float(self.token)):
            self._fail(f"a number after '{operator}'")
        if operator == "*=":
            if not float(self.token) > 0:
                self._fail("a factor above 0")
            return Head(label, print_number(float(self._take())), "*=")
        value = float(self._take())
        return Head(label, print_number(-value if operator == "-=" else value), "+=")

    def _inequality(self, places: dict[str, int]) -> tuple[str, str]:
        places.setdefault(self.token, self.position)
        left = self._variable()
        self._expect("!=", "'!='")
        places.setdefault(self.token, self.position)
        return left, self._variable()

    def _variable(self, what: str = "a variable, as in 'A'") -> str:
        if self.kind != "name" or not self.token[0].isupper():
            self._fail(what)
        return self._take()

    def _literal(self) -> Literal:
        table = self._name("a table or a variable")
        self._expect("(", f"'(' after the table '{table}'")
        bindings: list[tuple[str, str]] = []
        tests: list[Test] = []
        while self.token != ")" or bindings or tests:
            self._argument(table, bindings, tests)
            if self.token != ",":
                break
            self._next += 1
        self._expect(")", f"',' or ')' in the literal of '{table}'")
        return Literal(table, tuple(bindings), tuple(tests))

    def _argument(self, table: str, bindings: list[tuple[str, str]], tests: list[Test]) -> None:
        start = self.position
        column: Operand = self._name(f"a column of '{table}'")
        if self.token == "(":
            column = self._aggregate(str(column), start)
        operator = self.token if self.kind in ("symbol", "name") else ""
        if operator == "is":
            self._next += 1
            self._expect("missing", "'missing' after 'is'")
            tests.append(Test(column, "missing"))
        elif operator == "=":
            self._next += 1
            if self.kind == "string":
                tests.append(Test(column, "=", self._string()))
            elif not isinstance(column, str):
                self._fail("a constant in double quotes")
            else:
                bindings.append((column, self._variable("a variable, as in 'A', or a constant in double quotes")))
                if column in [name for name, _ in bindings[:-1]]:
                    raise ClauseError(
                        f"clause: the column '{column}' of '{table}' is bound twice; use one variable in both places"
                    )
        elif operator == "!=" and isinstance(column, str):
            self._next += 1
            if self.kind != "string":
                self._fail("a constant in double quotes (variables stand as in 'A != B')")
            tests.append(Test(column, "!=", self._string()))
        elif operator in (">=", "<="):
            self._next += 1
            op: Op = ">=" if operator == ">=" else "<="
            tests.append(Test(column, op, self._bound()))
        else:
            what, unequal = ("column", "'!=', ") if isinstance(column, str) else ("aggregate", "")
            self._fail(f"'=', {unequal}'>=', '<=' or 'is missing' after the {what} '{column}'")

    def aggregate(self) -> Aggregate:
        """An aggregate and nothing else."""
        start = self.position
        function = self._name("an aggregate")
        if self.token != "(":
            self._fail(f"'(' after the aggregate '{function}'")
        found = self._aggregate(function, start)
        if self.kind != "end":
            self._fail("the end of the text after the aggregate")
        return found

    def _aggregate(self, function: str, start: int) -> Aggregate:
        """The rest of an aggregate, from its parenthesis on."""
        if function not in FUNCTIONS:
            hint = did_you_mean(function, FUNCTIONS)
            raise ClauseError(f"clause, position {start}: there is no aggregate '{function}'{hint}")
        self._next += 1
        steps = [self._step()]
        while self.token == ".":
            self._next += 1
            steps.append(self._step())
        column = None
        if function not in ROWS:
            if len(steps) < 2 or steps[-1].keys is not None:
                raise ClauseError(
                    f"clause, position {start}: the aggregate '{function}' needs a table and a column, "
                    f"as in {function}(trans.amount)"
                )
            column = steps.pop().table
        where, within = self._conditions() if self.token == "where" else (None, None)
        self._expect(")", f"')' after the aggregate '{function}'")
        if where is None and within is None and function == "share":
            raise ClauseError(
                f"clause, position {start}: the aggregate 'share' needs a condition, as in "
                'share(trans where type="x")'
            )
        if where is not None and function in SPREAD:
            raise ClauseError(
                f"clause, position {start}: the aggregate '{function}' takes no condition on a value; leave it out"
            )
        return Aggregate(function, tuple(steps), column, where, within)

    def _step(self) -> TableStep:
        table = self._name("a table or column of an aggregate")
        if self.token != "[":
            return TableStep(table)
        self._next += 1
        before = self._name("the column that leads to the table")
        self._expect("=", "'=' between two keys")
        keys = before, self._name(f"a column of '{table}'")
        self._expect("]", "']' after the keys")
        return TableStep(table, keys)

    def _conditions(self) -> tuple[tuple[str, str] | None, tuple[str, str | float] | None]:
        """A value of a column, how old rows are at most, or both."""
        where: tuple[str, str] | None = None
        within: tuple[str, str | float] | None = None
        while self.token == ("where" if where is None and within is None else ","):
            column = self._name(f"a column after '{self._take()}'")
            if self.token == "<=" and within is None:
                self._next += 1
                within = column, self._length()
            elif self.token == "=" and where is None:
                self._next += 1
                if self.kind != "string":
                    self._fail("a constant in double quotes")
                where = column, self._string()
            elif self.token in ("=", "<="):
                self._fail("one value and one age at most in the condition of an aggregate")
            else:
                self._fail("'=' after a column, or '<=' after the age, in the condition of an aggregate")
        return where, within

    def _length(self) -> str | float:
        if self.kind not in ("duration", "number"):
            self._fail("a length of time such as 90d, or a number")
        return self._bound()

    def _bound(self) -> str | float:
        if self.kind == "number" or self.token == "inf":
            return self._number()
        if self.kind == "duration":
            return duration_text(microseconds_of(self._take()))
        if self.kind != "string" or not is_moment(self.token[1:-1]):
            self._fail("a number, an ISO date in double quotes or a length of time such as 90d")
        return self._string()

    def _number(self) -> float:
        end = self.position + len(self.token)
        found = float(self._take())
        if self.kind == "name" and self.position == end:
            self._fail(f"one of {', '.join(UNITS)} after the number of a length of time")
        return found

    def _name(self, what: str) -> str:
        if self.kind == "string":
            return self._string()
        if self.kind != "name" or self.token in _KEYWORDS:
            self._fail(what)
        return self._take()

    def _string(self) -> str:
        start, token = self.position, self._take()

        def replace(match: re.Match[str]) -> str:
            code = match.group(1)
            if code in _ESCAPES:
                return _ESCAPES[code]
            if len(code) > 1 and int(code[1:], 16) < 0x110000:
                return chr(int(code[1:], 16))
            raise ClauseError(
                f"clause, position {start + match.start() + 1}: '{match.group()}' is no escape; "
                r"write '\\' for a backslash"
            )

        return _ESCAPE.sub(replace, token[1:-1])

    def _expect(self, token: str, what: str) -> None:
        if self.token != token:
            self._fail(what)
        self._next += 1

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1][1]

    def _fail(self, what: str) -> NoReturn:
        if self.kind == "end":
            found = "the text ends"
        elif self.token == '"':
            found = "a double quote is never closed"
        else:
            found = f"found {' '.join(self.token.split())}"
        raise ClauseError(f"clause, position {self.position}: expected {what}, but {found}")

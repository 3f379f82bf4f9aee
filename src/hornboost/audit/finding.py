"""What an audit tells: findings with rows to look at and what to declare, as text, as a frame and in a notebook."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from typing import Literal as Choice

from hornboost.audit.declarations import Options, command_text, python_text, together

if TYPE_CHECKING:
    import pandas as pd

Kind = Choice["unused rows", "later rows", "later values", "condition", "identifier", "folds"]

_WIDTH = 100


@dataclass(frozen=True, eq=False)
class Finding:
    """Something that may not have been known when a prediction was due.

    Attributes
    ----------
    kind : str
        "later rows", "later values", "condition", "identifier", "folds"; of a note also "unused rows".
    place : str
        The table, column or condition.
    text : str
        What was found, with figures.
    witnesses : DataFrame
        Some rows that show it.
    options : dict
        What to declare, as options of a reader.
    """

    kind: Kind
    place: str
    text: str
    witnesses: pd.DataFrame
    options: Options = field(default_factory=dict)

    @property
    def python(self) -> str:
        """What to declare, as arguments of a reader."""
        return python_text(self.options)

    @property
    def command(self) -> str:
        """What to declare, as options of the command line."""
        return command_text(self.options)

    @property
    def lines(self) -> list[str]:
        """What was found, in lines of a readable length."""
        return textwrap.wrap(f"{self.kind}: {self.text}", _WIDTH, subsequent_indent="    ")

    def __str__(self) -> str:
        lines = self.lines
        if self.options:
            lines += [f"    declare {self.python}", f"    or      {self.command}"]
        if len(self.witnesses):
            lines.append(textwrap.indent(self.witnesses.to_string(index=False, max_colwidth=24), "      "))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The finding for a script."""
        return {
            "kind": self.kind,
            "place": self.place,
            "text": self.text,
            "python": self.python,
            "command": self.command,
            "witnesses": self.witnesses.to_dict("records"),
        }


@dataclass(frozen=True, eq=False)
class Audit:
    """What `Database.audit` found.

    Attributes
    ----------
    findings : tuple of Finding
        What may leak.
    notes : tuple of Finding
        What is worth knowing but reaches no rule: rows after the cutoff that are declared, and identifiers.
    checked : tuple of str
        What was looked at, and what could not be, a sentence each.
    unread : tuple of str
        Columns that look like dates and could not be read as such.

    Examples
    --------
    >>> import hornboost as hb
    >>> report = hb.datasets.trains(200, seed=1).database().audit()
    >>> report.is_clean, len(report.findings)
    (True, 0)
    >>> print(report)
    Nothing was found that a prediction could not have known.
    """

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...] = ()
    checked: tuple[str, ...] = field(default=(), repr=False)
    unread: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def headline(self) -> str:
        """One sentence: whether something was found."""
        if self.is_clean and self.unread:
            return f"Nothing was found, but {', '.join(self.unread)} could not be looked at."
        if self.is_clean:
            return "Nothing was found that a prediction could not have known."
        n = len(self.findings)
        return f"{n} {'thing' if n == 1 else 'things'} may not have been known when a prediction was due."

    @property
    def options(self) -> dict[str, Any]:
        """What all findings together ask to declare, as options of a reader."""
        return together(finding.options for finding in self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        parts = [self.headline, *(f"{n}. {finding}" for n, finding in enumerate(self.findings, 1))]
        if "times" in self.options:
            parts.append("with --time, rules ask for the ages of such rows, and no longer for their dates")
        if len([finding for finding in self.findings if finding.options]) > 1:
            parts.append(f"all together: {command_text(self.options)}")
        parts += ["\n".join(["note, " + note.lines[0], *note.lines[1:]]) for note in self.notes]
        return "\n".join([*parts, *textwrap.wrap(" ".join(f"{text}." for text in self.checked), _WIDTH)])

    def to_frame(self) -> pd.DataFrame:
        """A row for each finding and each note."""
        import pandas as pd

        rows = [
            {"is_leak": is_leak, **{name: getattr(found, name) for name in columns}}
            for is_leak, group in ((True, self.findings), (False, self.notes))
            for found in group
            for columns in [("kind", "place", "text", "python", "command")]
        ]
        return pd.DataFrame(rows, columns=["is_leak", "kind", "place", "text", "python", "command"])

    def to_dict(self) -> dict[str, Any]:
        """The audit for a script."""
        return {
            "is_clean": self.is_clean,
            "options": self.options,
            "command": command_text(self.options),
            "findings": [finding.to_dict() for finding in self.findings],
            "notes": [note.to_dict() for note in self.notes],
            "checked": list(self.checked),
            "unread": list(self.unread),
        }

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html.escape(self.headline)}</b></p>"]
        for title, group in (("", self.findings), ("note, ", self.notes)):
            for found in group:
                parts.append(f"<p>{title}<b>{html.escape(found.kind)}</b>: {html.escape(found.text)}</p>")
                if found.options:
                    parts.append(
                        f"<p>declare <code>{html.escape(found.python)}</code> "
                        f"or <code>{html.escape(found.command)}</code></p>"
                    )
                if len(found.witnesses):
                    parts.append(found.witnesses.to_html(index=False, border=0))
        parts.append(f"<p>{html.escape(' '.join(f'{text}.' for text in self.checked))}</p>" if self.checked else "")
        return f"<div>{''.join(parts)}</div>"

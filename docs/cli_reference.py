"""Write docs/cli.md, the reference of the command line, from the application itself.

python docs/cli_reference.py
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, get_args

from typer.models import ArgumentInfo

from hornboost.cli.app import app

PAGE = Path(__file__).with_name("cli.md")

HEAD = """# Command line

`hornboost VERB --help` prints what is on this page. [Start here](start.md) and the [first tutorial](tutorials/shop.md)
show the verbs at work; [Say what to predict](tasks.md) explains the options that describe a task, with their names in
Python. This page is written by `python docs/cli_reference.py` from the program itself.
"""

FOOT = """`hornboost --version` prints the version, and `hornboost --install-completion` sets up completion in your
shell. Results go to stdout and messages to stderr. The exit code is 0, or 1 after an error, 2 if a command cannot be
understood, and 130 after Ctrl-C.
"""

ARGUMENTS = ("MODEL", "SOURCE")
"""Arguments that mean the same wherever they stand."""

GROUPS = {
    "What is read and predicted": "target key label positive negative predicts task exclude link type types tables "
    "exclude_table where schema allow_outside",
    "What was known when": "times known_later as_of",
    "How it is tested": "groups split rolling horizon",
    "What learns": "estimator features rounds max_depth max_rules time_limit max_bins memory checkpoint seed settings",
    "Who works on partitions": "dask workers",
}
"""Options that several verbs share, by what they are about; those that are not listed stand under "Output"."""


class Option(NamedTuple):
    """An option or an argument of a verb, as it is printed."""

    name: str
    names: str
    text: str
    default: str

    @property
    def row(self) -> str:
        return f"| {self.names} | {self.text} | {self.default} |"


class Parameter(NamedTuple):
    """A parameter of the function behind a verb, with what typer is told about it."""

    name: str
    type: Any
    default: Any
    about: Any

    @classmethod
    def of(cls, found: inspect.Parameter) -> Parameter:
        kind, about, *_ = get_args(found.annotation)
        return cls(found.name, kind, found.default, about)

    @property
    def is_argument(self) -> bool:
        return isinstance(self.about, ArgumentInfo)

    @property
    def is_flag(self) -> bool:
        return self.type is bool

    @property
    def is_repeated(self) -> bool:
        kinds = get_args(self.type) if isinstance(self.type, types.UnionType) else (self.type,)
        return any(getattr(kind, "__origin__", None) is list for kind in kinds)

    @property
    def spellings(self) -> tuple[str, ...]:
        plain = self.name.replace("_", "-")
        given = tuple(name for name in (self.about.default, *(self.about.param_decls or ())) if _is_option(name))
        return given or ((f"--{plain}", f"--no-{plain}") if self.is_flag else (f"--{plain}",))

    @property
    def value(self) -> str:
        """What stands after the option."""
        if self.about.metavar:
            return str(self.about.metavar)
        kinds = get_args(self.type) if isinstance(self.type, types.UnionType) else (self.type,)
        return next((name for kind, name in ((int, "N"), (float, "X"), (Path, "FILE")) if kind in kinds), "TEXT")


def _is_option(name: object) -> bool:
    """In an annotation, typer takes the first spelling of an option for its default."""
    return isinstance(name, str) and name.startswith("-")


def verbs() -> dict[str, Callable[..., None]]:
    """The functions behind the verbs, in the order of the application."""
    found = [command.callback for command in app.registered_commands]
    return {verb.__name__: verb for verb in found if verb is not None}


def parameters(verb: Callable[..., None]) -> list[Parameter]:
    return [Parameter.of(found) for found in inspect.signature(verb, eval_str=True).parameters.values()]


def options(verb: Callable[..., None]) -> list[Option]:
    """The options of a verb; `--help` is one of every verb."""
    return [_option(parameter) for parameter in parameters(verb) if not parameter.is_argument]


def shared(of: dict[str, list[Option]]) -> dict[Option, list[str]]:
    """The options that several verbs have in the same words, with these verbs."""
    found: dict[Option, list[str]] = {}
    for verb, listed in of.items():
        for option in listed:
            found.setdefault(option, []).append(verb)
    return {option: takers for option, takers in found.items() if len(takers) > 1}


def page() -> str:
    """The text of the page."""
    commands = verbs()
    of = {name: options(verb) for name, verb in commands.items()}
    common = shared(of)
    parts = [HEAD, _list_of_verbs(commands)]
    for name, verb in commands.items():
        parts.append(_section(name, verb, of[name], common))
    parts.append(_common(common))
    return "\n".join(parts)


def _list_of_verbs(commands: dict[str, Any]) -> str:
    rows = [f"| [`{name}`](#{name}) | {_paragraphs(verb)[0]} |" for name, verb in commands.items()]
    every = {_metavar(one): one for verb in commands.values() for one in parameters(verb) if one.is_argument}
    arguments = [f"- `{name}`: {_text(every[name].about.help)}" for name in ARGUMENTS]
    return "\n".join(["| verb | what it does |", "|---|---|", *rows, "", *arguments, "", FOOT])


def _section(name: str, verb: Any, listed: list[Option], common: dict[Option, list[str]]) -> str:
    arguments = [parameter for parameter in parameters(verb) if parameter.is_argument]
    own = [option for option in listed if option not in common]
    usage = " ".join(["hornboost", name, *(_metavar(argument) for argument in arguments), "[OPTIONS]"])
    lines = [f"## {name}", "", f"`{usage}`", "", *_paragraphs(verb)]
    described = [f"`{_metavar(one)}`: {_text(one.about.help)}" for one in arguments if _metavar(one) not in ARGUMENTS]
    lines += [line for text in described for line in (text, "")]
    if own:
        lines += _table(own)
    for title, names in _groups(common).items():
        also = [_first(option) for option in listed if option in common and option.name in names]
        if also:
            lines.append(f"- [{title}](#{_anchor(title)}): {', '.join(also)}")
    return "\n".join([*lines, ""] if lines[-1] else lines)


def _groups(common: dict[Option, list[str]]) -> dict[str, list[str]]:
    """The names of the options in each group, those of no other in the last."""
    groups = {title: names.split() for title, names in GROUPS.items()}
    known = {name for names in groups.values() for name in names}
    return {**groups, "Output": [option.name for option in common if option.name not in known]}


def _common(common: dict[Option, list[str]]) -> str:
    """The sections of options that several verbs share."""
    lines = ["## Options of several verbs", ""]
    for title, names in _groups(common).items():
        found = [(option, takers) for name in names for option, takers in common.items() if option.name == name]
        lines += [f"### {title}", "", "| option | what it says | default | verbs |", "|---|---|---|---|"]
        lines += [f"{option.row} {', '.join(takers)} |" for option, takers in dict(found).items()]
        lines.append("")
    return "\n".join(lines)


def _table(listed: Iterable[Option]) -> list[str]:
    return ["| option | what it says | default |", "|---|---|---|", *(option.row for option in listed), ""]


def _first(option: Option) -> str:
    """The first spelling of an option, without a value."""
    return f"`{option.names.split('`')[1].split()[0]}`"


def _option(parameter: Parameter) -> Option:
    value = "" if parameter.is_flag else f" {parameter.value}"
    names = ", ".join(f"`{name}{value}`" for name in parameter.spellings)
    text = _text(parameter.about.help)
    repeated = " May be repeated." if parameter.is_repeated and "epeat" not in text else ""
    return Option(parameter.name, names, text + repeated, _default(parameter))


def _default(parameter: Parameter) -> str:
    if parameter.default is inspect.Parameter.empty:
        return "required"
    if parameter.is_flag:
        return "on" if parameter.default else "off"
    return "" if parameter.default is None else f"`{parameter.default}`"


def _metavar(argument: Parameter) -> str:
    return str(argument.about.metavar or argument.name.upper())


def _paragraphs(verb: Callable[..., None]) -> list[str]:
    """The paragraphs of a docstring, each on a line of its own, with an empty one after it."""
    found = (inspect.getdoc(verb) or "").split("\n\n")
    return [line for paragraph in found for line in (_text(paragraph), "")]


def _text(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""For the API reference: in our docstrings the text after `name :` describes the parameter;
its type is in the signature.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(?:.*\n?)+?(?=\n\n|\Z)", re.MULTILINE)
ITEM = re.compile(r"^(\w[\w, ]*) : (.*(?:\n {4}.*)*)$", re.MULTILINE)


class Descriptions(griffe.Extension):
    """Put the text of each item below its name, where the numpy style expects it."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = SECTION.sub(
                lambda section: ITEM.sub(r"\1\n    \2", section.group(0)), obj.docstring.value
            )

"""What is worth looking at: a report about a model as one HTML page, and displays for notebooks."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hornboost.report.page import report_html as report_html
    from hornboost.report.page import write_report as write_report

__all__ = ["report_html", "write_report"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("hornboost.report.page"), name)
    raise AttributeError(f"module 'hornboost.report' has no attribute '{name}'")

"""The one way in which a `fit` ends early: with what it has learned, whether time runs out or Ctrl-C is pressed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from hornboost.errors import DataError
from hornboost.stopping import INTERRUPTED, OUT_OF_TIME, fitting

FitMethod = TypeVar("FitMethod", bound=Callable[..., Any])

ALL_DONE = "all rounds done"


def ends_early(fit: FitMethod) -> FitMethod:
    """A `fit` whose search ends, at the next safe point, at the `time_limit` or on Ctrl-C,
    and which makes a model of what was found.

    Ctrl-C is raised as KeyboardInterrupt when the model is in place; before the first rule, or where Ctrl-C was pressed
    again and the fit broken off, the estimator is left as one that was not fitted.
    """
    knows_rounds = "eval_set" in signature(fit).parameters

    @wraps(fit)
    def wrapped(self: Any, *arguments: Any, **options: Any) -> Any:
        if "eval_set" in options and not knows_rounds:
            raise DataError(
                f"eval_set: {type(self).__name__} learns in one go, so that there are no rounds whose figures could be "
                "shown; leave it out, and score the other examples with score(X, y)"
            )
        is_whole = False
        try:
            with fitting(getattr(self, "time_limit", None)):
                fitted = fit(self, *arguments, **options)
                is_whole = True
            return fitted
        except KeyboardInterrupt:
            if not is_whole:
                _forget(self)
                raise
            raise KeyboardInterrupt(f"{type(self).__name__} holds what was learned until then") from None

    return cast(FitMethod, wrapped)


def keep(reason: str | None, learned: Any, otherwise: str = ALL_DONE) -> str:
    """What `stopped_` says of a search; one that was interrupted before it learned anything leaves nothing to keep."""
    if reason == INTERRUPTED and not learned:
        raise KeyboardInterrupt
    return otherwise if reason is None else reason


def limit(reason: str | None) -> str | None:
    """The parameter that ended a search, if one did."""
    return "time_limit" if reason == OUT_OF_TIME else None


def _forget(estimator: Any) -> None:
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)

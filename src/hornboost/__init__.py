"""HornBoost learns small, readable ensembles of first-order rules straight from many tables.

Public names are imported from their modules when they are first used, so that `import hornboost` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hornboost import datasets as datasets
    from hornboost import metrics as metrics
    from hornboost import report as report
    from hornboost.boosting.adaboost import AdaBoostM1Classifier as AdaBoostM1Classifier
    from hornboost.boosting.c2rib import C2RIBClassifier as C2RIBClassifier
    from hornboost.boosting.hornboost import HornBoostClassifier as HornBoostClassifier
    from hornboost.boosting.hornboost import HornBoostRegressor as HornBoostRegressor
    from hornboost.boosting.kbs import KBSClassifier as KBSClassifier
    from hornboost.boosting.logitboost import LogitBoostClassifier as LogitBoostClassifier
    from hornboost.boosting.rankboost import PRankBoostClassifier as PRankBoostClassifier
    from hornboost.boosting.rankboost import RankBoostClassifier as RankBoostClassifier
    from hornboost.boosting.subgroups import KBSSubgroups as KBSSubgroups
    from hornboost.data import Database as Database
    from hornboost.displays import FeatureTimelineDisplay as FeatureTimelineDisplay
    from hornboost.displays import LearningCurveDisplay as LearningCurveDisplay
    from hornboost.displays import MarginDisplay as MarginDisplay
    from hornboost.displays import PathDisplay as PathDisplay
    from hornboost.displays import RecallPrecisionDisplay as RecallPrecisionDisplay
    from hornboost.errors import HornBoostError as HornBoostError
    from hornboost.estimators.aggregates import RelationalAggregates as RelationalAggregates
    from hornboost.estimators.fitted import load as load
    from hornboost.estimators.mlynx import MLynxClassifier as MLynxClassifier
    from hornboost.estimators.patterns import RelationalPatterns as RelationalPatterns
    from hornboost.estimators.selector import MutualInformationSelector as MutualInformationSelector
    from hornboost.logic.clause import Clause as Clause

__version__ = "0.1.0"

_PUBLIC = {
    "AdaBoostM1Classifier": "hornboost.boosting.adaboost",
    "C2RIBClassifier": "hornboost.boosting.c2rib",
    "Clause": "hornboost.logic.clause",
    "Database": "hornboost.data",
    "FeatureTimelineDisplay": "hornboost.displays",
    "HornBoostClassifier": "hornboost.boosting.hornboost",
    "HornBoostError": "hornboost.errors",
    "HornBoostRegressor": "hornboost.boosting.hornboost",
    "KBSClassifier": "hornboost.boosting.kbs",
    "KBSSubgroups": "hornboost.boosting.subgroups",
    "LearningCurveDisplay": "hornboost.displays",
    "LogitBoostClassifier": "hornboost.boosting.logitboost",
    "MarginDisplay": "hornboost.displays",
    "MLynxClassifier": "hornboost.estimators.mlynx",
    "MutualInformationSelector": "hornboost.estimators.selector",
    "PathDisplay": "hornboost.displays",
    "PRankBoostClassifier": "hornboost.boosting.rankboost",
    "RankBoostClassifier": "hornboost.boosting.rankboost",
    "RecallPrecisionDisplay": "hornboost.displays",
    "RelationalAggregates": "hornboost.estimators.aggregates",
    "RelationalPatterns": "hornboost.estimators.patterns",
    "datasets": "hornboost.datasets",
    "load": "hornboost.estimators.fitted",
    "metrics": "hornboost.metrics",
    "report": "hornboost.report",
}
"""Where each public name is defined; a name that is the last part of its module stands for the module itself."""

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'hornboost' has no attribute '{name}'")
    path = _PUBLIC[name]
    module = importlib.import_module(path)
    value = module if path == f"hornboost.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

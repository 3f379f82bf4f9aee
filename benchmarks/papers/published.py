"""The figures that the papers print, as they print them; accuracies in percent, learning times in minutes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HOURS = 60.0


@dataclass(frozen=True, slots=True)
class Figure:
    """One entry of a table; None where the paper has no number."""

    accuracy: float | None
    deviation: float | None = None
    minutes: float | None = None
    features: float | None = None


# Hoche and Wrobel 2002, Tables 3 to 5; "features" is the column "# sel. Feat."
C2RIB: Mapping[str, Mapping[str, Figure]] = {
    "breast-wisc": {
        "SLIPPER": Figure(95.8),
        "C²RIB": Figure(96.1, 1.5, 9),
        "C²RIB^D": Figure(95.4, 1.7, 5.1, 5.8),
    },
    "horse-colic": {
        "SLIPPER": Figure(85.0),
        "C²RIB": Figure(81.0, 8.4, 3.6),
        "C²RIB^D": Figure(83.7, 5.7, 0.9, 2),
    },
    "hypothyroid": {
        "SLIPPER": Figure(99.3),
        "C²RIB": Figure(95.2, 0.69, 39.1),
        "C²RIB^D": Figure(96.6, 2.9, 20.8, 11.8),
    },
    "mushroom": {
        "SLIPPER": Figure(99.8),
        "C²RIB": Figure(99.3, 3.0, 144),
        "C²RIB^D": Figure(99.6, 0.16, 71.4, 4.8),
    },
    "splice-junction": {
        "SLIPPER": Figure(94.1),
        "C²RIB": Figure(53.13, 3.0, 289),
        "C²RIB^D": Figure(88.0, 4.7, 13.6, 4.4),
    },
    "PKDD loans, AC": {
        "Progol": Figure(None, None, 48 * HOURS),
        "RELAGGS/SVMlight": Figure(90.8, 3.2, 23),
        "RELAGGS/C4.5rules": Figure(94.1, 3.2, 23),
        "C²RIB": Figure(88.9, 3.4, 20),
        "C²RIB^D": Figure(88.9, 3.4, 9.5, 10),
    },
    "PKDD loans, A": {
        "Progol": Figure(45.7, 10.5),
        "RELAGGS/SVMlight": Figure(88.0, 5.3, 10),
        "RELAGGS/C4.5rules": Figure(88.0, 6.5, 10),
        "C²RIB": Figure(86.3, 6.1, 3.6),
        "C²RIB^D": Figure(86.7, 6.6, 4.2, 10.2),
    },
    "KDD Cup 2001, task 2": {
        "Progol": Figure(92.2, None, 24),
        "RELAGGS/SVMlight": Figure(92.2, None, 2),
        "C²RIB": Figure(91.1, None, 53),
        "C²RIB^D": Figure(91.5, None, 27, 5),
    },
    "Mutagenicity": {
        "FOIL": Figure(82.0, 3.0),
        "Fors": Figure(89.0, 6.0),
        "Progol": Figure(88.0, 2.0, 307),
        "C²RIB": Figure(88.0, 3.4, 7),
        "C²RIB^D": Figure(88.8, 5.2, 1.53, 6),
    },
    "QSARs": {
        "FOIL": Figure(82.9, 2.7, 0.7),
        "Progol": Figure(79.8, 3.7, 372),
        "C²RIB": Figure(83.4, 2.9, 91),
        "C²RIB^D": Figure(83.3, 1.9, 70, 11.8),
    },
    "Eastbound Trains": {
        "Progol": Figure(77.78, 6.43, 1.15),
        "C²RIB": Figure(83.3, 0.0, 0.44),
        "C²RIB^D": Figure(89.6, 8.6, 0.1, 6.25),
    },
}

EVOLUTION_DOMAINS = ("KDD01", "Mutagenicity", "PKDD-A", "PKDD-C", "QSARs", "Trains")

# Hoche and Wrobel 2003, Table 2, in the order of EVOLUTION_DOMAINS: accuracy, its deviation, requested features, their
# deviation
EVOLUTION: Mapping[str, tuple[tuple[float, float, float, float], ...]] = {
    "C²RIB^D": (
        (90.15, 7.92, 5.5, 3.4),
        (83.50, 5.80, 4.4, 2.0),
        (86.70, 6.64, 5.5, 1.8),
        (88.57, 2.95, 6.3, 1.8),
        (78.76, 1.76, 3.4, 1.5),
        (80.00, 15.32, 5.9, 1.9),
    ),
    "V1": (
        (91.58, 6.32, 6.6, 2.2),
        (80.87, 9.94, 4.2, 1.6),
        (86.70, 6.64, 6.9, 2.6),
        (88.87, 3.35, 5.7, 2.6),
        (81.37, 2.03, 3.3, 1.5),
        (78.33, 8.05, 5.8, 1.4),
    ),
    "V2": (
        (90.33, 7.73, 5.4, 3.9),
        (85.60, 4.45, 7.4, 1.2),
        (86.70, 6.64, 6.1, 2.5),
        (88.87, 3.35, 8.6, 3.0),
        (80.77, 2.93, 2.3, 0.5),
        (81.67, 16.57, 5.7, 1.2),
    ),
    "V3": (
        (90.29, 7.44, 2.5, 1.1),
        (85.67, 6.03, 5.4, 1.4),
        (86.70, 6.64, 6.6, 1.8),
        (88.72, 3.12, 7.0, 2.3),
        (81.51, 2.39, 4.0, 0.0),
        (86.67, 10.54, 5.8, 1.1),
    ),
    "V4": (
        (90.57, 7.32, 3.5, 2.3),
        (86.19, 5.01, 4.9, 1.7),
        (86.70, 6.64, 5.9, 2.6),
        (88.87, 3.35, 5.7, 4.1),
        (80.96, 3.45, 6.0, 2.8),
        (83.33, 11.11, 6.6, 1.0),
    ),
    "V5": (
        (90.12, 7.99, 3.7, 4.0),
        (86.72, 6.64, 5.6, 1.8),
        (86.70, 6.64, 7.1, 2.6),
        (88.87, 3.35, 8.4, 2.0),
        (77.45, 3.09, 5.0, 1.4),
        (73.33, 11.65, 6.1, 1.2),
    ),
    "V6": (
        (89.87, 8.53, 2.4, 0.9),
        (87.77, 6.08, 5.2, 1.8),
        (86.70, 6.64, 7.3, 1.9),
        (88.87, 3.35, 8.9, 1.0),
        (80.13, 3.19, 3.5, 0.6),
        (88.33, 13.72, 6.0, 0.7),
    ),
    "V7": (
        (90.73, 7.13, 2.9, 1.9),
        (85.14, 8.20, 5.8, 2.2),
        (86.70, 6.64, 6.9, 3.0),
        (88.87, 3.35, 7.9, 3.3),
        (78.14, 5.63, 6.2, 4.7),
        (81.67, 9.46, 7.5, 3.4),
    ),
    "V8": (
        (89.95, 8.34, 2.2, 0.6),
        (85.60, 9.99, 7.4, 2.2),
        (86.70, 6.64, 8.5, 3.2),
        (88.87, 3.35, 8.0, 3.5),
        (76.73, 4.21, 4.4, 1.3),
        (85.0, 14.59, 6.3, 2.0),
    ),
    "V9": (
        (90.61, 6.40, 2.4, 1.1),
        (82.51, 7.35, 4.2, 1.7),
        (86.23, 6.76, 2.9, 1.7),
        (87.46, 2.73, 8.7, 1.3),
        (78.93, 4.77, 2.8, 1.0),
        (81.67, 9.46, 5.8, 1.5),
    ),
    "V10": (
        (90.65, 6.26, 2.5, 1.1),
        (88.55, 7.07, 5.7, 2.2),
        (82.88, 7.25, 2.0, 0.0),
        (88.65, 2.78, 5.8, 2.5),
        (80.43, 2.61, 5.5, 0.7),
        (81.67, 9.46, 6.2, 0.8),
    ),
    "V11": (
        (90.75, 6.24, 2.2, 0.4),
        (84.55, 6.35, 3.5, 0.7),
        (86.19, 7.5, 2.9, 1.2),
        (88.72, 3.2, 4.6, 2.0),
        (79.03, 2.56, 2.8, 0.8),
        (78.33, 11.25, 4.0, 0.0),
    ),
    "V12": (
        (90.31, 6.61, 2.2, 0.4),
        (82.38, 8.03, 4.5, 1.1),
        (85.72, 7.67, 2.0, 0.0),
        (88.97, 3.19, 3.3, 2.2),
        (78.24, 2.02, 3.0, 0.7),
        (78.33, 8.05, 3.4, 0.5),
    ),
    "V13": (
        (91.12, 6.28, 3.85, 2.9),
        (86.19, 6.12, 9.6, 4.5),
        (82.46, 6.74, 10.8, 7.2),
        (88.43, 2.99, 11.0, 7.7),
        (72.77, 2.47, 4.4, 2.2),
        (80.0, 10.54, 12.4, 4.2),
    ),
    "V14": (
        (90.53, 6.38, 2.8, 2.2),
        (86.29, 5.04, 10.0, 3.7),
        (87.02, 7.64, 2.0, 0.0),
        (86.14, 2.48, 5.0, 7.0),
        (72.75, 2.38, 4.8, 3.4),
        (76.67, 2.61, 9.2, 3.9),
    ),
    "V15": (
        (89.93, 6.71, 2.6, 1.3),
        (82.38, 8.03, 6.4, 3.4),
        (85.83, 7.16, 6.6, 5.3),
        (88.13, 2.66, 13.0, 6.9),
        (72.64, 2.33, 2.4, 0.9),
        (73.33, 11.65, 6.8, 2.4),
    ),
    "V16": (
        (90.62, 6.18, 2.9, 1.8),
        (82.83, 6.31, 8.2, 3.7),
        (84.18, 9.2, 2.7, 1.2),
        (86.85, 4.29, 2.0, 0.0),
        (72.81, 2.35, 6.8, 5.6),
        (75.0, 11.79, 10.2, 5.1),
    ),
}

# Oliphant, Burnside and Shavlik 2009, Table 2: AUROC and AURPC with their deviations, of RankBoost and of
# PRankBoost.Clause; none of the four sets is public
PRANKBOOST: Mapping[str, tuple[tuple[float, float, float, float], tuple[float, float, float, float]]] = {
    "Mammography 1": ((89.9, 4.2, 18.5, 5.7), (88.1, 5.8, 32.9, 7.6)),
    "Mammography 2": ((92.5, 2.0, 16.2, 7.4), (96.7, 1.1, 41.3, 10.6)),
    "Protein Localization": ((98.9, 0.1, 40.4, 7.9), (97.9, 0.7, 40.5, 8.6)),
    "Gene Disease": ((98.2, 0.9, 32.9, 10.7), (95.4, 2.4, 46.6, 11.9)),
}


def best(row: str) -> tuple[str, float]:
    """The system with the highest accuracy in a row of Tables 3 to 5, and that accuracy.

    >>> best("horse-colic")
    ('SLIPPER', 85.0)
    """
    known = [(figure.accuracy, system) for system, figure in C2RIB[row].items() if figure.accuracy is not None]
    accuracy = max(value for value, _ in known)
    return next(system for value, system in known if value == accuracy), accuracy

"""The number types of the whole package, in one place."""

from __future__ import annotations

import numpy as np

CODE = np.int32
"""Dictionary codes of keys and nominal values; negative codes stand for no value."""

ROW = np.int32
"""Row numbers of a table and entry numbers of a join-tree node."""

WEIGHT = np.int64
"""Example weights in fixed point, so that sums are exact and order-free."""

MISSING: int = -1
"""Code of a null key (which joins nothing) or of a missing nominal value."""

UNSEEN: int = -2
"""Code of a nominal value that the dictionary does not hold: not missing, equal to no constant."""

WEIGHT_ONE: int = 1 << 52
"""The total of all example weights in units of the fixed-point scale."""

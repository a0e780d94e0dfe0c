"""Integers that control flow goes by, and launches on them."""

import numpy as np

VALUES = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.int64)


def run(kernel, *outputs, x=VALUES, **constants):
    """Launches one instance on `x` and the outputs, which were poisoned."""
    kernel[1](x, *outputs, **constants)
    return [each.copy() for each in outputs]


def poisoned(n=1, dtype=np.int64):
    return np.full(n, -77, dtype)

"""Everything that a kernel's source text names as `tw.…`."""

from __future__ import annotations

from typing import Any

from tilewire._tilewire import all_dtypes
from tilewire.frontend.builtins import BUILTINS
from tilewire.frontend.values import target
from tilewire.record import record
from tilewire.types import Tensor, const, constant

NAMES: dict[str, Any] = {
    **{dtype.name: dtype for dtype in all_dtypes()},
    **BUILTINS,
    "Tensor": Tensor,
    "const": const,
    "constant": constant,
    "record": record,
    "target": target,
    "world": "world",
    "lsa": "lsa",
    "rail": "rail",
    "local": "local",
}

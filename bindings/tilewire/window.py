"""Symmetric memory as Python holds it."""

from __future__ import annotations

from typing import Any

from tilewire.types import ArrayAnnotation, make_array_annotation


class Window:
    """Annotation of a kernel parameter that is symmetric memory."""

    annotation_kind = "window"

    def __class_getitem__(cls, dimensions: Any) -> ArrayAnnotation:
        return make_array_annotation("window", dimensions)

"""An attribute that is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class made_once:  # noqa: N801  # a decorator, like property
    """`functools.cached_property` without its lock: until Python 3.12 it is one for all instances,
    and ranks in threads that make something together would wait for each other forever."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = self.make(instance)
        instance.__dict__[self.name] = value
        return value

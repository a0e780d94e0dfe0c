"""Symmetric memory and synchronisation objects: what communicators and lanes make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewire import objects
from tilewire._tilewire import DType
from tilewire.errors import UserError

if TYPE_CHECKING:
    from tilewire.objects import Channel, Flag, Semaphore
    from tilewire.record import Record
    from tilewire.window import Window


class Creation:
    """Collective calls that make something on all ranks. Objects and windows that rotate are on the
    lane that made them, on lane 0 where a communicator did. They are refused while a stream is
    captured into a CUDA graph: make them before."""

    @property
    def size(self) -> int:
        """How many ranks there are."""
        raise NotImplementedError

    @property
    def lsa_size(self) -> int:
        """How many ranks reach each other's memory by loads and stores."""
        raise NotImplementedError

    def window(self, shape: Any, dtype: DType | Record, rotate: int | None = None) -> Window:
        """Collective: symmetric memory of `shape` on every rank, cleared on the CPU only. `dtype`
        may be a `tw.record(…)`. With `rotate=k`, each launch that takes it sees the next of k
        copies, which are cleared everywhere: scratch that needs no barrier before refilling."""
        return self._make(objects.window_request(self.size, shape, dtype, rotate))

    def semaphore(self, shape: Any, init: int = 0) -> Semaphore:
        """Collective: an array of counting semaphores that have `init` signals on every rank."""
        return self._make(objects.semaphore_request(shape, init))

    def flag(self, shape: Any) -> Flag:
        """Collective: an array of flags, none of them set."""
        return self._make(objects.flag_request(self.size, shape))

    def channel(
        self,
        shape: Any,
        tile: Any = (),
        dtype: Any = None,
        depth: int = 1,
        exchange: bool = False,
        signed_zero: bool = True,
    ) -> Channel:
        """Collective: an array of slots, each for messages of one tile of `dtype`: a scalar where
        `tile` is (), a record's fields where `dtype` is a `tw.record(…)`, several values where it
        is a tuple, as `(tw.bf16[2048], tw.i32)`. Up to `depth` messages of a slot may be unread.
        `exchange=True`: only `exchange` uses it. `signed_zero=False`: -0.0 arrives as 0.0, and
        messages of an exchange take half the room."""
        if dtype is None:
            raise UserError("comm.channel: dtype= is missing: what its messages are made of")
        return self._make(
            objects.channel_request(
                self.size,
                shape,
                tile,
                dtype,
                depth,
                exchange,
                signed_zero,
                network=self.lsa_size < self.size,
            )
        )

    def _make(self, request: objects.Request) -> Any:
        """Collective: what was asked for, holding its first content on all ranks."""
        raise NotImplementedError

"""Hands a few bytes from rank to rank, before there is a communicator."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from tilewire.errors import BackendError

_TIMEOUT_S = 300.0
_KEY = "tilewire/unique_id"
_count = 0

T = TypeVar("T")


def share_bytes(made: bytes | None, rank: int, size: int, address: str, port: int) -> bytes:
    """Rank 0 passes `made`; every rank gets it. Goes through PyTorch's store under torchrun, else
    through a socket of rank 0's at `port + 1`."""
    if size == 1:
        assert made is not None
        return made
    try:
        return _through_store(made, rank, size, address, port)
    except ImportError:
        return _through_socket(made, rank, size, address, port + 1)


def gather_bytes(own: bytes, rank: int, size: int, address: str, port: int) -> list[bytes]:
    """Every rank's `own`, in rank order, on every rank; the ways are those of `share_bytes`."""
    if size == 1:
        return [own]
    try:
        store = _store(rank, size, address, port)
    except ImportError:
        return _gather_through_socket(own, rank, size, address, port + 1)
    store.set(f"of/{rank}", own)
    gathered = [bytes(store.get(f"of/{each}")) for each in range(size)]
    _leave(store, rank, size, "the other ranks to read what was gathered")
    return gathered


def _through_store(made: bytes | None, rank: int, size: int, address: str, port: int) -> bytes:
    store = _store(rank, size, address, port)
    if made is not None:
        store.set("value", made)
    result = bytes(store.get("value"))
    _leave(store, rank, size, "the other ranks to read the unique id")
    return result


def _store(rank: int, size: int, address: str, port: int) -> Any:
    """PyTorch's, with keys of this call's own. ImportError where there is no PyTorch."""
    from torch.distributed import PrefixStore, TCPStore

    global _count
    # torchrun's agent may serve the store already; then nobody starts one.
    hosted = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = TCPStore(
        address,
        port,
        size,
        is_master=rank == 0 and not hosted,
        timeout=timedelta(seconds=_TIMEOUT_S),
        multi_tenant=True,
    )
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    prefixed = PrefixStore(f"{_KEY}/{attempt}/{_count}", store)
    _count += 1
    return prefixed


def _leave(store: Any, rank: int, size: int, what: str) -> None:
    """Rank 0 may host the store: it leaves last."""
    store.add("done", 1)
    if rank == 0:
        _wait_for(lambda: store.add("done", 0) >= size, what)


def _through_socket(made: bytes | None, rank: int, size: int, address: str, port: int) -> bytes:
    if made is not None:
        _serve(size, port, lambda connection, _: _send(connection, made))
        return made

    def ask(connection: socket.socket) -> bytes:
        connection.sendall(struct.pack("!i", rank))
        return _receive_sized(connection)

    return _reach(rank, address, port, ask)


def _gather_through_socket(
    own: bytes, rank: int, size: int, address: str, port: int
) -> list[bytes]:
    if rank == 0:
        return _gather_as_rank_0(own, size, port)

    def exchange(connection: socket.socket) -> list[bytes]:
        connection.sendall(struct.pack("!i", rank))
        _send(connection, own)
        connection.settimeout(_TIMEOUT_S)  # until the last rank has come
        return [_receive_sized(connection) for _ in range(size)]

    return _reach(rank, address, port, exchange)


def _gather_as_rank_0(own: bytes, size: int, port: int) -> list[bytes]:
    gathered = {0: own}
    with contextlib.ExitStack() as open_until_the_end:

        def keep(connection: socket.socket, rank: int) -> None:
            gathered[rank] = _receive_sized(connection)
            # The file descriptor outlives the one that `_serve` closes.
            others.append(open_until_the_end.enter_context(connection.dup()))

        others: list[socket.socket] = []
        _serve(size, port, keep)
        in_order = [gathered[rank] for rank in range(size)]
        for connection in others:
            with contextlib.suppress(OSError):  # that rank says itself that it got nothing
                for each in in_order:
                    _send(connection, each)
    return in_order


def _reach(rank: int, address: str, port: int, talk: Callable[[socket.socket], T]) -> T:
    """What `talk` gives over a connection to rank 0, as soon as that listens."""
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            with socket.create_connection((address, port), timeout=10.0) as connection:
                return talk(connection)
        except OSError as error:
            if time.monotonic() > deadline:
                raise BackendError(
                    f"rank {rank} can't reach rank 0 at {address}:{port} (MASTER_ADDR, "
                    f"MASTER_PORT + 1): {error}"
                ) from None
            time.sleep(0.05)


def _serve(size: int, port: int, answer: Callable[[socket.socket, int], None]) -> None:
    """Answers each of the other ranks once."""
    seen: set[int] = set()
    with socket.create_server(("", port)) as server:
        server.settimeout(_TIMEOUT_S)
        while len(seen) < size - 1:
            try:
                connection, _ = server.accept()
                with connection:
                    connection.settimeout(10.0)
                    rank = struct.unpack("!i", _receive(connection, 4))[0]
                    answer(connection, rank)
                    seen.add(rank)
            except TimeoutError:
                missing = sorted(set(range(1, size)) - seen)
                raise BackendError(
                    f"rank 0 waited {_TIMEOUT_S:.0f} s on port {port} for ranks {missing}"
                ) from None
            except OSError:
                continue  # that rank tries again


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(struct.pack("!i", len(data)) + data)


def _receive_sized(connection: socket.socket) -> bytes:
    return _receive(connection, struct.unpack("!i", _receive(connection, 4))[0])


def _receive(connection: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        part = connection.recv(count - len(received))
        if not part:
            raise OSError("the connection was closed")
        received += part
    return received


def _wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise BackendError(f"rank 0 waited {_TIMEOUT_S:.0f} s for {what}")
        time.sleep(0.01)

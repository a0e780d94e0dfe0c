"""Hands a few bytes from rank 0 to all ranks, before there is a communicator."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable
from datetime import timedelta

from tilewire.errors import BackendError

_TIMEOUT_S = 300.0
_KEY = "tilewire/unique_id"
_count = 0


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


def _through_store(made: bytes | None, rank: int, size: int, address: str, port: int) -> bytes:
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
    if made is not None:
        prefixed.set("value", made)
    result = bytes(prefixed.get("value"))
    # Rank 0 may host the store: it leaves last.
    prefixed.add("done", 1)
    if rank == 0:
        _wait_for(lambda: prefixed.add("done", 0) >= size, "the other ranks to read the unique id")
    return result


def _through_socket(made: bytes | None, rank: int, size: int, address: str, port: int) -> bytes:
    if made is not None:
        _serve(made, size, port)
        return made
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            with socket.create_connection((address, port), timeout=10.0) as connection:
                connection.sendall(struct.pack("!i", rank))
                length = struct.unpack("!i", _receive(connection, 4))[0]
                return _receive(connection, length)
        except OSError as error:
            if time.monotonic() > deadline:
                raise BackendError(
                    f"rank {rank} can't reach rank 0 at {address}:{port} (MASTER_ADDR, "
                    f"MASTER_PORT + 1): {error}"
                ) from None
            time.sleep(0.05)


def _serve(made: bytes, size: int, port: int) -> None:
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
                    connection.sendall(struct.pack("!i", len(made)) + made)
                    seen.add(rank)
            except TimeoutError:
                missing = sorted(set(range(1, size)) - seen)
                raise BackendError(
                    f"rank 0 waited {_TIMEOUT_S:.0f} s on port {port} for ranks {missing}"
                ) from None
            except OSError:
                continue  # that rank tries again


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

"""How bytes get from rank to rank before there is a communicator."""

import socket
import threading

import pytest
import tilewire as tw
from tilewire import share_bytes


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def share(rank, size, port, made=b"x" * 128):
    given = made if rank == 0 else None
    return share_bytes._through_socket(given, rank, size, "127.0.0.1", port)


def gather(rank, size, port):
    own = bytes([rank]) * (rank * 100_000)  # rank 0's is empty
    return share_bytes._gather_through_socket(own, rank, size, "127.0.0.1", port)


def run_ranks(size, port, call=share):
    results, errors = {}, []

    def run(rank):
        try:
            results[rank] = call(rank, size, port)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in reversed(range(size))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return results, errors


@pytest.mark.parametrize("size", [2, 5])
def test_every_rank_gets_the_bytes(size):
    results, errors = run_ranks(size, free_port())
    assert errors == []
    assert results == dict.fromkeys(range(size), b"x" * 128)


@pytest.mark.parametrize("size", [2, 5])
def test_every_rank_gets_what_all_have(size):
    results, errors = run_ranks(size, free_port(), gather)
    assert errors == []
    all_have = [bytes([rank]) * (rank * 100_000) for rank in range(size)]
    assert results == dict.fromkeys(range(size), all_have)


@pytest.mark.parametrize("call", [share, gather])
def test_strangers_are_ignored(call):
    port = free_port()

    def disturb():
        for _ in range(50):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                threading.Event().wait(0.02)

    stranger = threading.Thread(target=disturb)
    stranger.start()
    results, errors = run_ranks(2, port, call)
    stranger.join()
    assert errors == [] and results[1] == results[0]


def test_missing_rank_is_named(monkeypatch):
    monkeypatch.setattr(share_bytes, "_TIMEOUT_S", 0.2)
    with pytest.raises(tw.BackendError, match=r"rank 0 waited 0 s on port \d+ for ranks \[1, 2\]"):
        share_bytes._through_socket(b"x", 0, 3, "127.0.0.1", free_port())


def test_missing_rank_is_named_where_all_are_gathered(monkeypatch):
    monkeypatch.setattr(share_bytes, "_TIMEOUT_S", 0.2)
    with pytest.raises(tw.BackendError, match=r"on port \d+ for ranks \[1\]"):
        share_bytes._gather_through_socket(b"x", 0, 2, "127.0.0.1", free_port())


def test_missing_rank_0_is_named(monkeypatch):
    monkeypatch.setattr(share_bytes, "_TIMEOUT_S", 0.2)
    with pytest.raises(tw.BackendError, match=r"rank 1 can't reach rank 0 at 127\.0\.0\.1"):
        share_bytes._through_socket(None, 1, 2, "127.0.0.1", free_port())


def test_world_of_one_needs_nobody():
    assert share_bytes.share_bytes(b"id", 0, 1, "", 0) == b"id"
    assert share_bytes.gather_bytes(b"id", 0, 1, "", 0) == [b"id"]

"""Channels on CPU worlds, under many seeds: exchanges and queues, over loops, launches and kernels,
around the end of sequence numbers; and what is reported where messages don't meet."""

import re

import numpy as np
import pytest
import tilewire as tw
from channel_kernels import (
    all_reduce,
    all_reduce_by_block,
    gather,
    gather_twice,
    pass_on,
    pass_on_in_turn,
)
from tilewire.objects import channel_request

WORLDS = ["1", "2", "3", "8"]
SEEDS = {"1": 2, "2": 30, "3": 20, "8": 4}
CARRYINGS = {
    "tagged": {"exchange": True},
    "reserved": {"exchange": True, "signed_zero": False},
}


def per_seed(world, main):
    for seed in range(SEEDS[world]):
        assert all(tw.spawn(main, world=world, seed=seed)), f"seed {seed}"


def used_channel(comm, shape, tile, dtype, depth=1, exchange=False, signed_zero=True, start=0):
    """As `comm.channel`, of which `start` messages have gone through each slot."""
    request = channel_request(
        comm.size, shape, tile, dtype, depth, exchange, signed_zero, start=start
    )
    return comm._make(request)


@pytest.mark.parametrize("start", [0, 2**32 - 3])
@pytest.mark.parametrize("carrying", CARRYINGS)
@pytest.mark.parametrize("world", WORLDS)
def test_exchanges_over_loops_launches_and_kernels(world, carrying, start):
    def main(comm):
        ch = used_channel(comm, (comm.size, 9), (16,), tw.f32, start=start, **CARRYINGS[carrying])
        right = True
        for launch in range(4):
            n = [100, 16, 5, 131][launch]
            inputs = [np.arange(n, dtype=np.float32) * (r + 1) + launch for r in range(comm.size)]
            y = np.full(n, np.nan, np.float32)
            all_reduce[1 + launch % 3](inputs[comm.rank], y, ch, B=16)
            right &= bool((y == sum(inputs)).all())
            y[...] = np.nan
            all_reduce_by_block[1 + launch % 2](inputs[comm.rank], y, ch, B=16)
            right &= bool((y == sum(inputs)).all())
            mine = [np.full(16, 10 * launch + r, np.float32) for r in range(comm.size)]
            both = np.full((2, comm.size, 16), np.nan, np.float32)
            gather_twice[1](mine[comm.rank], both, ch)
            right &= bool((both[0] == np.stack(mine)).all())
            right &= bool((both[1] == np.stack(mine) + mine[-1]).all())
        return right

    per_seed(world, main)


BITS = {
    tw.bf16: np.uint16,
    tw.f16: np.uint16,
    tw.f32: np.uint32,
    tw.f64: np.uint64,
    tw.e4m3: np.uint8,
}


@pytest.mark.parametrize("dtype", BITS, ids=str)
@pytest.mark.parametrize("tile", [3, 64])
@pytest.mark.parametrize("world", ["1", "2", "3"])
def test_all_bits_arrive_but_the_sign_of_zero(world, tile, dtype):
    unsigned = BITS[dtype]
    width = np.dtype(unsigned).itemsize * 8
    special = [
        0,
        1 << (width - 1),
        (1 << (width - 1)) + 1,
        (1 << width) - 1,
        1,
        0x7F << (width - 8),
    ]
    patterns = np.resize(np.array(special, unsigned), tile)

    def main(comm):
        array_type = tw.types.to_numpy_dtype(dtype)
        right = True
        for options in CARRYINGS.values():
            ch = comm.channel((comm.size, 1), tile=(tile,), dtype=dtype, **options)
            sent = [np.roll(patterns, r).copy() for r in range(comm.size)]
            y = np.full((comm.size, tile), 77, unsigned)
            gather[1](sent[comm.rank].view(array_type), y.view(array_type), ch)
            expected = np.stack(sent)
            if "signed_zero" in options:
                expected[expected == 1 << (width - 1)] = 0
            right &= bool((y == expected).all())
        return right

    per_seed(world, main)


@pytest.mark.parametrize("start", [0, 2**32 - 2])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("kernel", [pass_on, pass_on_in_turn], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("world", WORLDS)
def test_a_ring(world, kernel, depth, start):
    def main(comm):
        ch = used_channel(comm, (2,), (5,), tw.i16, depth, start=start)
        right = True
        for launch in range(2):
            x = (np.arange(20).reshape(4, 5) + 100 * comm.rank + 1000 * launch).astype(np.int16)
            y = np.full_like(x, -1)
            kernel[1](x, y, ch)
            right &= bool((y == x).all())
        return right

    per_seed(world, main)


@tw.kernel
def send_all(x: tw.Tensor["M"], to: tw.i32, ch: tw.Channel):
    for m in range(M):
        tw.send(ch.at(to)[tw.rank()], tw.load(x[m]))


@tw.kernel
def receive_some(y: tw.Tensor["M"], source: tw.i32, ch: tw.Channel):
    for m in range(M):
        tw.store(y[m], tw.recv(ch[source]))


@pytest.mark.parametrize("world", ["2", "3"])
def test_a_message_waits_for_a_later_launch_of_another_kernel(world):
    def main(comm):
        ch = comm.channel((comm.size,), dtype=tw.f64, depth=4)
        following, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        right = True
        for launch in range(3):
            sent = np.arange(4) + 10.0 * comm.rank + 100.0 * launch
            send_all[1](sent, following, ch)
            for half in range(2):
                y = np.full(2, np.nan)
                receive_some[1](y, before, ch)
                expected = np.arange(4) + 10.0 * before + 100.0 * launch
                right &= bool((y == expected[2 * half : 2 * half + 2]).all())
        return right

    per_seed(world, main)


ROW = tw.record(q=tw.e4m3[8], scale=tw.f32[2], source=tw.i32)


@tw.kernel
def swap_records(rows: tw.Window["T"], ch: tw.Channel, source: tw.Tensor["T"]):
    other = 1 - tw.rank()
    for row in range(T):
        tw.send(ch.at(other)[0], tw.load(rows[row]))
    for row in range(T):
        came = tw.recv(ch[0])
        tw.store(rows[row], came)
        tw.store(source[row], came.source)


def test_records():
    def main(comm):
        rows = comm.window((4,), ROW)
        view = rows.numpy()
        view["source"] = 10 * comm.rank + np.arange(4)
        view["scale"] = comm.rank + 0.5
        ch = comm.channel((1,), dtype=ROW, depth=4)
        source = np.full(4, -1, np.int32)
        swap_records[1](rows, ch, source)
        other = 1 - comm.rank
        return bool(
            (source == 10 * other + np.arange(4)).all() and (view["scale"] == other + 0.5).all()
        )

    per_seed("2", main)


def failure(world, main):
    with pytest.raises(Exception) as caught:
        tw.spawn(main, world=world, seed=1)
    return caught.value


@tw.kernel
def only_one_sends(x: tw.Tensor["B"], ch: tw.Channel, *, B: tw.const):
    if tw.rank() == 0:
        tw.send(ch.at(1)[0], tw.load(x[:]))
    else:
        tw.recv(ch[0])
        tw.recv(ch[0])  # nobody sends it


def test_a_message_that_never_comes():
    def main(comm):
        ch = comm.channel((2,), tile=(4,), dtype=tw.f32)
        only_one_sends[1](np.ones(4, np.float32), ch)

    error = failure("2", main)
    assert isinstance(error, tw.HangError)
    message = str(error)
    assert re.search(r"rank 1, program 0: waits at \S*test_channels.py:\d+ in recv\(ch\)", message)
    assert "in recv(ch): message 2 to slot 0 of rank 1 didn't come" in message


@tw.kernel
def send_two(x: tw.Tensor["B"], ch: tw.Channel, *, B: tw.const):
    tw.send(ch.at(0)[1], tw.load(x[:]))
    tw.send(ch.at(0)[1], tw.load(x[:]))


def test_a_full_slot():
    def main(comm):
        ch = comm.channel((2,), tile=(4,), dtype=tw.f32)
        if comm.rank == 1:
            send_two[1](np.ones(4, np.float32), ch)

    error = failure("2", main)
    assert isinstance(error, tw.HangError)
    assert "in send(ch): slot 1 of rank 0 holds 1 messages that nobody has received" in str(error)


@tw.kernel
def lonely_exchange(x: tw.Tensor["B"], ch: tw.Channel, *, B: tw.const):
    if tw.rank() != 1:
        tw.exchange(ch[:, 0], tw.load(x[:]))


def test_an_exchange_that_one_rank_leaves_out():
    def main(comm):
        ch = comm.channel((3, 1), tile=(4,), dtype=tw.f32, exchange=True)
        lonely_exchange[1](np.ones(4, np.float32), ch)

    error = failure("3", main)
    assert isinstance(error, tw.HangError)
    assert "in exchange(ch) for rank 1, which has finished: message 1 in slot 0" in str(error)


@tw.kernel
def everybody_sends(x: tw.Tensor["B"], ch: tw.Channel, *, B: tw.const):
    tw.send(ch.at(0)[0], tw.load(x[:]))


@tw.kernel
def everybody_receives(x: tw.Tensor["B"], ch: tw.Channel, *, B: tw.const):
    if tw.program_id(0) < 2:
        tw.recv(ch[0])
    else:
        tw.send(ch[0], tw.load(x[:]))
        tw.send(ch[0], tw.load(x[:]))


def test_two_senders():
    def main(comm):
        ch = comm.channel((1,), tile=(4,), dtype=tw.f32, depth=4)
        everybody_sends[1](np.ones(4, np.float32), ch)

    error = failure("2", main)
    assert isinstance(error, tw.UserError)
    assert "sends to the same slot as rank" in str(error) and "test_channels.py:" in str(error)


def test_two_receivers():
    def main(comm):
        ch = comm.channel((1,), tile=(4,), dtype=tw.f32, depth=4)
        everybody_receives[3](np.ones(4, np.float32), ch)

    error = failure("1", main)
    assert isinstance(error, tw.UserError)
    assert "receives from the same slot as rank 0, program" in str(error)


@tw.kernel
def send_somewhere(x: tw.Tensor["B"], to: tw.i32, slot: tw.i32, ch: tw.Channel, *, B: tw.const):
    tw.send(ch.at(to)[slot], tw.load(x[:]))


@pytest.mark.parametrize(("to", "slot"), [(2, 0), (-1, 0), (0, 1), (0, -1)])
def test_places_that_are_none(to, slot):
    def main(comm):
        ch = comm.channel((1,), tile=(4,), dtype=tw.f32)
        send_somewhere[1](np.ones(4, np.float32), to, slot, ch)

    error = failure("2", main)
    assert isinstance(error, tw.Error)
    assert ("the world has no rank" if to != 0 else "`ch`: an index outside of [1]") in str(error)

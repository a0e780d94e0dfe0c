"""What the use of channels in kernels, and their creation, refuse."""

from pathlib import Path

import numpy as np
import pytest
import tilewire as tw


@pytest.fixture
def comm():
    with tw.init(virtual="2") as made:
        yield made


def refused(kernel, *args, grid=1, **constants):
    """The message, of the line that ends in `# error`."""
    with pytest.raises(tw.UserError) as caught:
        kernel[grid](*args, **constants)
    lines = Path(caught.value.file).read_text().splitlines()
    assert lines[caught.value.line - 1].rstrip().endswith("# error"), str(caught.value)
    return caught.value.message


def queue(comm, **options):
    return comm.channel((2, 4), **{"tile": (8,), "dtype": tw.f32, **options})


X = np.zeros(8, np.float32)


@tw.kernel
def send_part(x: tw.Tensor["N"], ch: tw.Channel, *, N: tw.const, HALF: tw.const):
    tw.send(ch[0, 0], tw.load(x[:])[:HALF])  # error


def test_a_tile_of_another_shape(comm):
    message = refused(send_part, X, queue(comm), HALF=4)
    assert message == "send: `ch` carries f32[8], got tile<f32[4]>"


@tw.kernel
def send_pair(x: tw.Tensor["N"], ch: tw.Channel, *, N: tw.const):
    tw.send(ch[0, 0], (tw.load(x[:]), 1))  # error


def test_more_values_than_the_message_has(comm):
    message = refused(send_pair, X, queue(comm))
    assert message == "send: a message of `ch` has 1 values (f32[8]), got 2"


@tw.kernel
def send_number(ch: tw.Channel):
    tw.send(ch[0, 0], 1.5)  # error


def test_a_fraction_in_a_channel_of_integers(comm):
    message = refused(send_number, queue(comm, tile=(), dtype=tw.i32))
    assert "1.5" in message and "i32" in message


@tw.kernel
def send_on_exchange(x: tw.Tensor["N"], ch: tw.Channel, *, N: tw.const):
    tw.send(ch[0, 0], tw.load(x[:]))  # error


@tw.kernel
def recv_on_exchange(ch: tw.Channel):
    tw.recv(ch[0, 0])  # error


@tw.kernel
def exchange_on_queue(x: tw.Tensor["N"], ch: tw.Channel, *, N: tw.const):
    tw.exchange(ch[:, 0], tw.load(x[:]))  # error


def test_the_other_kind_of_channel(comm):
    exchange = queue(comm, exchange=True)
    expected = "`ch` was made with exchange=True and takes tw.exchange alone"
    assert refused(send_on_exchange, X, exchange) == f"send: {expected}"
    assert refused(recv_on_exchange, exchange) == f"recv: {expected}"
    assert refused(exchange_on_queue, X, queue(comm)) == (
        "exchange: `ch` was made for tw.send and tw.recv; make it with exchange=True"
    )


@tw.kernel
def exchange_one(x: tw.Tensor["N"], ch: tw.Channel, *, N: tw.const):
    tw.exchange(ch[0, 0], tw.load(x[:]))  # error


@tw.kernel
def send_row(x: tw.Tensor["N"], ch: tw.Channel, *, N: tw.const):
    tw.send(ch[0], tw.load(x[:]))  # error


@tw.kernel
def recv_of_peer(ch: tw.Channel):
    tw.recv(ch.at(1)[0, 0])  # error


@tw.kernel
def send_to_array(x: tw.Tensor["N"], *, N: tw.const):
    tw.send(x[0], 1.0)  # error


def test_what_is_no_slot(comm):
    assert "takes a slot of every rank: `:` in the channel's first dimension" in refused(
        exchange_one, X, queue(comm, exchange=True)
    )
    assert "takes one slot, channel<[4]> has 1 dimensions left" in refused(send_row, X, queue(comm))
    assert "waits on this rank's own; leave out `.at(…)`" in refused(recv_of_peer, queue(comm))
    assert "takes a slot of a channel, got" in refused(send_to_array, X)


@tw.kernel
def send_dynamically(x: tw.Tensor["N"], ch: tw.Channel, *, N: tw.const):
    for b in tw.persistent(4, schedule="dynamic"):
        tw.send(ch[0, tw.program_id(0)], tw.load(x[:]))  # error
        tw.send(ch[0, b], tw.load(x[:]))


def test_a_slot_by_the_program_id_under_a_dynamic_schedule(comm):
    assert refused(send_dynamically, X, queue(comm)).startswith(
        'send: under schedule="dynamic" nobody knows which program instance does what'
    )


def test_channels_that_cannot_be_made(comm):
    def message(*args, **kwargs):
        with pytest.raises(tw.UserError) as caught:
            comm.channel(*args, **kwargs)
        return str(caught.value)

    assert "signed_zero=False is for floats, the message has i32" in message(
        (2, 1), dtype=tw.i32, exchange=True, signed_zero=False
    )
    assert "the first dimension of a channel for exchanges is the 2 ranks" in message(
        (3, 1), dtype=tw.f32, exchange=True
    )
    assert "leave out tile=" in message((2,), tile=(4,), dtype=(tw.f32, tw.i32))


@tw.kernel
def two_channels(a: tw.Channel, b: tw.Channel):
    tw.send(a[0, 0], 1.0)
    tw.send(b[0, 1], 1.0)


def test_one_channel_under_two_names(comm):
    ch = queue(comm, tile=())
    with pytest.raises(tw.UserError, match="arguments `a` and `b` are one channel"):
        two_channels[1](ch, ch)
    two_channels[1](ch, queue(comm, tile=()))


def test_teams_that_loads_do_not_span():
    with tw.init(virtual="2x2,gin=0") as comm:
        ch = comm.channel((4, 1), tile=(8,), dtype=tw.f32)
        assert "no network that kernels can use (GIN)" in refused(send_whole, X, ch)


@tw.kernel
def send_whole(x: tw.Tensor["N"], ch: tw.Channel, *, N: tw.const):
    tw.send(ch[0, 0], tw.load(x[:]))  # error


@tw.kernel
def exchange_in_part(ch: tw.Channel):
    tw.exchange(ch[0:1, 0], 1.0)  # error


@tw.kernel
def exchange_from_the_second(ch: tw.Channel):
    tw.exchange(ch[tw.ds(1, 2), 0], 1.0)  # error


@tw.kernel
def exchange_along_the_slots(ch: tw.Channel):
    tw.exchange(ch[1, :], 1.0)  # error


@tw.kernel
def exchange_along_the_slots_of_a_part(ch: tw.Channel):
    part = ch[:, 1:3]
    tw.exchange(part[0, :], 1.0)  # error


@pytest.mark.parametrize(
    "kernel",
    [
        exchange_in_part,
        exchange_from_the_second,
        exchange_along_the_slots,
        exchange_along_the_slots_of_a_part,
    ],
    ids=lambda kernel: kernel.name,
)
def test_an_exchange_in_other_slots_than_all_ranks(comm, kernel):
    message = refused(kernel, queue(comm, tile=(), exchange=True))
    assert message.startswith("exchange: takes a slot of every rank: `:` in the first dimension of")


@tw.kernel
def exchange_in_a_part_of_a_part(ch: tw.Channel, y: tw.Tensor[2]):
    part = ch[0:2, 2:]
    tw.store(y[0], tw.sum(tw.exchange(part[:, 1], tw.rank() + 1.0)))


def test_an_exchange_in_a_slot_of_a_part(comm):
    y = [np.zeros(2, np.float32) for _ in range(2)]
    exchange_in_a_part_of_a_part[1](queue(comm, tile=(), exchange=True), y)
    assert y[0][0] == y[1][0] == 3


def test_a_channel_larger_than_memory_can_be(comm):
    with pytest.raises(tw.UserError, match="make it smaller"):
        comm.channel((2**20,), tile=2**20, dtype=tw.f32, depth=2**20)


@tw.kernel
def send_view(x: tw.Tensor["N"], ch: tw.Channel):
    tw.send(ch[0, 0], x[:])  # error


def test_a_message_that_was_not_loaded(comm):
    message = refused(send_view, X, queue(comm))
    assert "sends tiles, scalars, and tuples or records of them, found the view" in message
    assert message.endswith("tw.load it")

"""Records: their layout, and windows and tensors of them."""

import ml_dtypes
import numpy as np
import pytest
import tilewire as tw

Row = tw.record(q=tw.e4m3[128], scale=tw.f32[1], source=tw.i32)
Pair = tw.record(flag=tw.u8, value=tw.f64, half=tw.bf16[3], matrix=tw.f32[2, 4])


def test_layout():
    assert Row.offsets == {"q": 0, "scale": 128, "source": 132}
    assert Row.num_bytes == 144  # 136, rounded up to the alignment of q
    assert Pair.offsets == {"flag": 0, "value": 8, "half": 16, "matrix": 32}
    assert (Pair.alignment, Pair.num_bytes) == (16, 64)
    assert tw.record(x=tw.u8[3]).num_bytes == 3
    assert str(Row) == "tw.record(q=tw.e4m3[128], scale=tw.f32[1], source=tw.i32)"
    assert Row == tw.record(q=tw.e4m3[128], scale=tw.f32[1], source=tw.i32)
    assert Row.numpy_dtype.itemsize == 144


@tw.kernel
def quantise(x: tw.Tensor["N", 128], rows: tw.Window["N"]):
    for i in tw.persistent(N):
        tile = tw.load(x[i, :])
        scale = tw.max(tw.abs(tile)) / 448.0
        record = Row(
            q=(tile / scale).to(tw.e4m3), scale=tw.full(1, scale), source=tw.cast(tw.rank(), tw.i32)
        )
        tw.store(rows.at((tw.rank() + 1) % tw.world_size())[i], record)


@tw.kernel
def dequantise(rows: tw.Window["N"], y: tw.Tensor["N", 128], sources: tw.Tensor["N"]):
    for i in tw.persistent(N):
        record = tw.load(rows[i])
        tw.store(y[i, :], record.q.to(tw.f32) * record.scale)
        tw.store(sources[i], tw.load(rows[i].source))


@pytest.mark.parametrize("world", ["1", "2", "3"])
def test_windows_of_records_whole_and_by_field(world):
    with tw.init(virtual=world) as comm:
        rows = comm.window((5,), Row)
        size = comm.size
        x = [
            np.random.default_rng(r).standard_normal((5, 128)).astype(np.float32)
            for r in range(size)
        ]
        quantise[2](x, rows)
        y = [np.full((5, 128), np.nan, np.float32) for _ in range(size)]
        sources = [np.full(5, -1, np.int32) for _ in range(size)]
        dequantise[2](rows, y, sources)
        for r in range(size):
            source = (r - 1) % size
            assert (sources[r] == source).all()
            assert np.allclose(y[r], x[source], atol=0.2)
            host = rows.at(r)
            assert host.shape == (5,) and (host["source"] == source).all()
            scale = np.abs(x[source]).max(axis=1) / np.float32(448)
            assert np.allclose(host["scale"][:, 0], scale)
            q = host["q"].view(ml_dtypes.float8_e4m3fn).astype(np.float32)
            assert np.allclose(q * scale[:, None], y[r])


def test_numpy_sees_records_in_windows_and_parts_of_them():
    with tw.init(virtual="2") as comm:
        rows = comm.window((5, 3), Row)
        rows.at(0)["source"] = np.arange(15).reshape(5, 3)
        for whole in (rows.numpy(), np.asarray(rows), rows.at(0)):
            assert whole.dtype == Row.numpy_dtype
            assert whole.shape == (5, 3)
            assert whole["source"][4, 1] == 13
        assert np.array_equal(rows[1:4, 2].numpy()["source"], [5, 8, 11])
        rows[2].numpy()["source"][1] = 70  # the window's own memory
        assert np.asarray(rows)["source"][2, 1] == 70
        assert rows[2, 1].numpy()["source"] == 70
        rows[0].at(1).numpy()["source"][:] = 9
        assert (rows.at(1)["source"][0] == 9).all()
        assert rows[2, 1, 4:8].numpy().dtype == np.uint8  # some bytes of one
        assert np.from_dlpack(rows).shape == (5, 3, Row.num_bytes)


@tw.kernel
def copy_records(
    x: tw.Tensor["M", "K", Pair.num_bytes],
    y: tw.Tensor["M", "K", Pair.num_bytes],
    limit: tw.i64,
    *,
    K: tw.const,
):
    source, target = tw.as_records(x, Pair), tw.as_records(y, Pair)
    for i in tw.persistent(M):
        tw.store(target[i, :], tw.load(source[i]), where=tw.arange(K) < limit)
    tw.store(target[0, 1].value, 5.0)
    tw.store(target[0].half[2, tw.ds(1, 2)], tw.full(2, 3.0))


def test_tensors_of_bytes_and_masks():
    x = np.zeros((3, 4), Pair.numpy_dtype)
    random = np.random.default_rng(0)
    x["flag"] = random.integers(0, 255, (3, 4))
    x["value"] = random.standard_normal((3, 4))
    x["half"] = random.standard_normal((3, 4, 3)).astype(ml_dtypes.bfloat16)
    x["matrix"] = random.standard_normal((3, 4, 2, 4))
    y = np.zeros((3, 4), Pair.numpy_dtype)
    as_bytes = [each.view(np.uint8).reshape(3, 4, 64) for each in (x, y)]
    copy_records[2](*as_bytes, 3)
    expected = np.zeros((3, 4), Pair.numpy_dtype)
    for name in Pair.numpy_dtype.names:
        expected[name][:, :3] = x[name][:, :3]
    expected["value"][0, 1] = 5
    expected["half"][0, 2, 1:] = 3
    for name in Pair.numpy_dtype.names:
        assert (y[name] == expected[name]).all(), name


def test_gathered_records():
    @tw.kernel
    def f(
        x: tw.Tensor["N", Row.num_bytes],
        rows: tw.Tensor["R"],
        y: tw.Tensor["R", 128],
        *,
        R: tw.const,
    ):
        picked = tw.load(tw.as_records(x, Row)[tw.load(rows[:])])
        tw.store(y[:, :], picked.q.to(tw.f32) * picked.scale)

    x = np.zeros(6, Row.numpy_dtype)
    x["q"] = np.random.default_rng(0).standard_normal((6, 128)).astype(ml_dtypes.float8_e4m3fn)
    x["scale"] = np.arange(6)[:, None]
    y = np.full((4, 128), np.nan, np.float32)
    rows = np.array([5, 2, 9, 0], np.int32)
    f[1](x.view(np.uint8).reshape(6, -1), rows, y)
    expected = x["q"].astype(np.float32) * x["scale"]
    assert (y == np.stack([expected[5], expected[2], np.zeros(128, np.float32), expected[0]])).all()


def test_errors(diagnose):
    with pytest.raises(tw.UserError, match="has no fields"):
        tw.record()
    with pytest.raises(tw.UserError, match="field `x` must be a dtype"):
        tw.record(x=3)
    with pytest.raises(tw.UserError, match="extents are positive integers"):
        tw.record(x=tw.f32[0])
    with pytest.raises(tw.UserError, match="1048576 elements at most"):
        tw.record(x=tw.f32[1 << 20, 2])
    for name in ("a b", "class", ""):
        with pytest.raises(tw.UserError, match="can't be written as an attribute"):
            tw.record(**{name: tw.f32})

    def missing(x: tw.Tensor["N", Row.num_bytes]):
        tw.store(tw.as_records(x, Row)[0], Row(q=1.0))  # error

    message, _ = diagnose(missing, x="u8[?, 144]")
    assert "all of its fields by name: q, scale, source" in message

    def size(x: tw.Tensor["N", "K"]):
        tw.as_records(x, Row)  # error

    message, _ = diagnose(size, x="u8[?, ?]")
    assert "the last dimension must be the 144 bytes" in message

    def unknown(x: tw.Tensor["N", Row.num_bytes]):
        tw.load(tw.as_records(x, Row)[0].weight)  # error

    message, _ = diagnose(unknown, x="u8[?, 144]")
    assert "has no field `weight`" in message

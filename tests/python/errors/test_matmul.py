"""What `tw.matmul` refuses, and what it says then."""

import tilewire as tw

AB = {"a": "f32[8, 16]", "b": "f32[16, 4]"}


def test_depths_that_differ(diagnose):
    def f(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        tw.matmul(tw.load(a[:, :]), tw.load(b[0:8, :]))  # error

    message, _ = diagnose(f, **AB)
    assert message.endswith("needs one K; the shapes are [8, 16] and [8, 4]: take a.T")


def test_ranks(diagnose):
    def f(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        tw.matmul(tw.load(a[:, :]), tw.load(b[:, 0]))  # error

    message, _ = diagnose(f, **AB)
    assert "two tiles of rank 2, or of rank 3 with batches first; found [8, 16] and [16]" in message


def test_batches(diagnose):
    def f(a: tw.Tensor[2, 8, 16], b: tw.Tensor[3, 16, 4]):
        tw.matmul(tw.load(a[:, :, :]), tw.load(b[:, :, :]))  # error

    message, _ = diagnose(f, a="f32[2, 8, 16]", b="f32[3, 16, 4]")
    assert "the numbers of batches differ: the shapes are [2, 8, 16] and [3, 16, 4]" in message


def test_batches_of_views(diagnose):
    def f(a: tw.Tensor[2, 8, 16], b: tw.Tensor[2, 16, 4]):
        tw.matmul(a, b, block_k=8)  # error

    message, _ = diagnose(f, a="f32[2, 8, 16]", b="f32[2, 16, 4]")
    assert "take one batch of each in a loop, like a[i, :, :], or tiles of all" in message


def test_which_one_to_transpose(diagnose):
    def right(a: tw.Tensor[8, 16], b: tw.Tensor[4, 16]):
        tw.matmul(tw.load(a[:, :]), tw.load(b[:, :]))  # error

    def batches(a: tw.Tensor[2, 8, 16], b: tw.Tensor[2, 4, 16]):
        tw.matmul(tw.load(a[:, :, :]), tw.load(b[:, :, :]))  # error

    def square(a: tw.Tensor[8, 16], b: tw.Tensor[8, 16]):
        tw.matmul(tw.load(a[:, :]), tw.load(b[:, :]))  # error

    def never(a: tw.Tensor[8, 16], b: tw.Tensor[4, 5]):
        tw.matmul(tw.load(a[:, :]), tw.load(b[:, :]))  # error

    def said(function, *shapes):
        specs = {name: f"f32{list(shape)}" for name, shape in zip("ab", shapes, strict=True)}
        return diagnose(function, **specs)[0]

    assert said(right, (8, 16), (4, 16)).endswith("[8, 16] and [4, 16]: take b.T")
    assert said(batches, (2, 8, 16), (2, 4, 16)).endswith(": take transpose_b=True")
    assert said(square, (8, 16), (8, 16)).endswith(": take a.T or b.T")
    assert said(never, (8, 16), (4, 5)).endswith("[8, 16] and [4, 5]")


def test_dtypes(diagnose):
    def f(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        tw.matmul(tw.load(a[:, :]), tw.load(b[:, :]))  # error

    message, _ = diagnose(f, a="i32[8, 16]", b="i32[16, 4]")
    assert message.endswith(
        "multiplies f16, bf16, fp8, f32, f64 or 8-bit integers, found i32 and i32; cast them"
    )


def test_acc(diagnose):
    def shape(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        acc = tw.zeros((4, 8))
        tw.matmul(tw.load(a[:, :]), tw.load(b[:, :]), acc=acc)  # error

    def dtype(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        acc = tw.zeros((8, 4), tw.bf16)
        tw.matmul(tw.load(a[:, :]), tw.load(b[:, :]), acc)  # error

    assert (
        "acc= is f32 of shape [4, 8]; the product is f32 of shape [8, 4]"
        in diagnose(shape, **AB)[0]
    )
    assert "acc= is bf16 of shape [8, 4]; the product is f32" in diagnose(dtype, **AB)[0]


def test_options(diagnose):
    def precision(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        tw.matmul(tw.load(a[:, :]), tw.load(b[:, :]), precision="tf64")  # error

    def block(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        tw.matmul(tw.load(a[:, :]), tw.load(b[:, :]), block_k=32)  # error

    def negative(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        tw.matmul(a, b, block_k=-2)  # error

    def halves(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        tw.matmul(a, b, precision="tf64")  # error

    def flight(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        tw.matmul(a, b, stages=0)  # error

    def scalar(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        acc = 0.0
        for _ in range(2):
            acc = tw.matmul(tw.load(a[:, :]), tw.load(b[:, :]), acc=acc)  # error

    def none(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        acc = None
        for _ in range(2):
            acc = tw.matmul(a, b, acc=acc)  # error

    halves_of = {"a": "f16[8, 16]", "b": "f16[16, 4]"}
    assert "found 'tf64'" in diagnose(halves, **halves_of)[0]
    assert "stages must be positive, found 0" in diagnose(flight, **AB)[0]
    assert (
        "acc= is a scalar; begin with a tile: tw.zeros([8, 4], tw.f32)" in diagnose(scalar, **AB)[0]
    )
    assert "begin it as a tile, like tw.zeros(shape)" in diagnose(none, **AB)[0]
    assert "tf64" in diagnose(precision, **AB)[0]
    assert "block_k=, stages= and other= are for views" in diagnose(block, **AB)[0]
    assert "block_k must be positive, found -2" in diagnose(negative, **AB)[0]


def test_views(diagnose):
    def blocks(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        tw.matmul(a, tw.load(b[:, :]), block_k=8)  # error

    def beside(a: tw.Tensor["M", 16], b: tw.Tensor[16, 4]):
        tw.matmul(a, tw.load(b[:, :]))  # error

    def rows(a: tw.Tensor["M", 16], b: tw.Tensor[16, 4]):
        tw.matmul(a, b)  # error

    def depths(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        tw.matmul(a, b[0:8, :])  # error

    assert "block_k= is for two views, found view<f32[8, 16]>" in diagnose(blocks, **AB)[0]
    assert (
        "dimension 0 of view<f32[?, 16]> is known only at run time"
        in diagnose(beside, a="f32[?, 16]", b=AB["b"])[0]
    )
    assert (
        "M of view<f32[?, 16]> is known only at run time"
        in diagnose(rows, a="f32[?, 16]", b=AB["b"])[0]
    )
    assert "needs one K, found 16 and 8" in diagnose(depths, **AB)[0]

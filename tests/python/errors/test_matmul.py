"""What `tw.matmul` refuses, and what it says then."""

import tilewire as tw

AB = {"a": "f32[8, 16]", "b": "f32[16, 4]"}


def test_depths_that_differ(diagnose):
    def f(a: tw.Tensor[8, 16], b: tw.Tensor[16, 4]):
        tw.matmul(tw.load(a[:, :]), tw.load(b[0:8, :]))  # error

    message, _ = diagnose(f, **AB)
    assert message.endswith("a [M, K] · b [K, N] needs one K; the shapes are [8, 16] and [8, 4]")


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

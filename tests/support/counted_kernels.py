"""Programs that check themselves at each launch, and count launches on the device."""

import tilewire as tw


@tw.kernel
def counted_all_reduce(
    launches: tw.Tensor["S"],
    wrong: tw.Tensor["S"],
    ch: tw.Channel["W", "S"],
    salt: tw.i32,
    *,
    B: tw.const,
):
    """An all-reduce whose input says which launch it is, as `launches` counts: what another launch,
    slot or rank sent makes the sum differ, and counts in `wrong`."""
    slot = tw.program_id(0)
    n = tw.load(launches[slot])
    column = tw.arange(B)
    mine = (n * 31 + column * 7 + slot * 3 + salt) % 1024 + 1024 * tw.rank()
    total = tw.sum(tw.exchange(ch[:, slot], mine.to(tw.f32)), axis=0)
    expected = tw.zeros((B,), tw.i32)
    for r in tw.ranks():
        expected += (n * 31 + column * 7 + slot * 3 + salt) % 1024 + 1024 * r
    tw.store(wrong[slot], tw.load(wrong[slot]) + tw.sum(total != expected.to(tw.f32)))
    tw.store(launches[slot], n + 1)

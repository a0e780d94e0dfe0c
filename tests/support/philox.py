"""Philox4x32-10 in NumPy: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011."""

import numpy as np

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox4x32(seed, counter, stream=0):
    """The four words (u32, first axis) of the blocks that 64-bit counters name."""
    counter = np.asarray(counter, np.uint64)
    stream = np.broadcast_to(np.uint64(stream), counter.shape)
    block = [counter & LOW, counter >> HALF, stream & LOW, stream >> HALF]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first = block[0] * np.uint64(0xD2511F53)
        second = block[2] * np.uint64(0xCD9E8D57)
        block = [
            (second >> HALF) ^ block[1] ^ np.uint64(key[0]),
            second & LOW,
            (first >> HALF) ^ block[3] ^ np.uint64(key[1]),
            first & LOW,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(block).astype(np.uint32)

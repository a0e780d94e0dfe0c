"""Both ends of a language model whose vocabulary is split over the ranks: embedding, greedy choice
and cross-entropy, each one kernel.

    python examples/11_vocabulary_parallel.py --world 8 --shape 37,10007,96
    torchrun --nproc-per-node 2 examples/11_vocabulary_parallel.py

Rank r has words first … first + V - 1: the rows of the embedding's table, and the columns of the
logits. The last rank has fewer, some may have none. All ranks get the same result.
"""

import numpy as np
import tilewire as tw
from common import check, poisoned, random, run, share_of, to_device, to_host, window

B = 1024  # logits at a time


@tw.kernel
def embed(
    words: tw.Tensor["T"],
    table: tw.Tensor["V", "H"],
    first: tw.i32,
    y: tw.Window["T", "H"],
    *,
    H: tw.const,
):
    tw.barrier()  # nobody needs the old y
    for t in tw.persistent(T):
        word = tw.load(words[t]) - first
        if 0 <= word < V:  # one rank has it, and gives it to all
            for r in tw.ranks():
                tw.store(y.at(r)[t, :], tw.load(table[word, :]))
    tw.barrier()  # y is complete


@tw.kernel
def choose(
    logits: tw.Tensor["T", "V"],
    first: tw.i32,
    best: tw.Window["T"],
    word: tw.Window["T"],
    choice: tw.Tensor["T"],
):
    for t in tw.persistent(T):
        largest, at = -float("inf"), 0
        for start in range(0, V, B):
            value, index = tw.max(
                tw.load(logits[t, tw.ds(start, B)], other=-float("inf")), return_index=True
            )
            if value > largest:
                largest, at = value, first + start + index
        tw.store(best[t], largest)
        tw.store(word[t], at)
    tw.barrier()  # the instances with this id have the same rows on all ranks
    for t in tw.persistent(T):
        largest, at = -float("inf"), 0
        for r in tw.ranks():
            if tw.load(best.at(r)[t]) > largest:
                largest, at = tw.load(best.at(r)[t]), tw.load(word.at(r)[t])
        tw.store(choice[t], at)
    tw.barrier()  # the next launch may write best and word again


@tw.kernel
def cross_entropy(
    logits: tw.Tensor["T", "V"],
    first: tw.i32,
    words: tw.Tensor["T"],
    parts: tw.Window["T", 3],
    loss: tw.Tensor["T"],
):
    for t in tw.persistent(T):
        largest, total = -float("inf"), 0.0
        for start in range(0, V, B):
            x = tw.load(logits[t, tw.ds(start, B)], other=-float("inf"))
            larger = tw.maximum(largest, tw.max(x))
            total = total * tw.exp(largest - larger) + tw.sum(tw.exp(x - larger))
            largest = larger
        tw.store(parts[t, 0], largest)
        tw.store(parts[t, 1], total)
        tw.store(parts[t, 2], tw.load(logits[t, tw.load(words[t]) - first]))  # outside: 0
    tw.barrier()  # the instances with this id have the same rows on all ranks
    for t in tw.persistent(T):
        largest, total, target = -float("inf"), 0.0, 0.0
        for r in tw.ranks():
            largest = tw.maximum(largest, tw.load(parts.at(r)[t, 0]))
        for r in tw.ranks():
            total += tw.load(parts.at(r)[t, 1]) * tw.exp(tw.load(parts.at(r)[t, 0]) - largest)
            target += tw.load(parts.at(r)[t, 2])
        tw.store(loss[t], tw.log(total) + largest - target)
    tw.barrier()  # the next launch may write parts again


def main(comm, T, vocabulary, H):
    mine = share_of(vocabulary, comm.size, comm.rank)
    table, logits = random(1, (vocabulary, H)), random(2, (T, vocabulary))
    words = np.random.default_rng(3).integers(0, vocabulary, T).astype(np.int32)
    my_table, my_logits = to_device(comm, table[mine]), to_device(comm, logits[:, mine])
    my_words = to_device(comm, words)

    y = window(comm, np.full((T, H), np.nan, np.float32))
    embed[tw.auto](my_words, my_table, mine.start, y)
    check(to_host(comm, y), table[words])

    best, word = comm.window(T, tw.f32), comm.window(T, tw.i32)
    choice = poisoned(comm, T, np.int32)
    choose[tw.auto](my_logits, mine.start, best, word, choice)
    check(to_host(comm, choice), logits.argmax(axis=1))

    parts, loss = comm.window((T, 3), tw.f32), poisoned(comm, T)
    cross_entropy[tw.auto](my_logits, mine.start, my_words, parts, loss)
    exact = logits.astype(np.float64)
    expected = np.log(np.exp(exact).sum(axis=1)) - exact[np.arange(T), words]
    error = check(to_host(comm, loss), expected, tolerance=1e-5)
    return f"{T} of {vocabulary} words embedded, chosen, and their loss {error:.1e} off"


if __name__ == "__main__":
    run(main, "37,10007,96", "T,vocabulary,H: words, different words, length of an embedding")

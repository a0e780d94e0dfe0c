"""Launches on the CPU target that end by Ctrl-C only: `python endless_kernels.py KIND`. Prints
`launching`, then that KeyboardInterrupt came out of the launch, then that one after it works."""

import sys

import numpy as np
import tilewire as tw

HUGE = 1 << 62


@tw.kernel
def endless_while(x: tw.Tensor["N"], out: tw.Tensor[1]):
    i = 0
    while tw.load(x[0]) == 0:
        i = (i + 1) & 1023
    tw.store(out[0], tw.cast(i, tw.i32))


@tw.kernel
def endless_for(x: tw.Tensor["N"], out: tw.Tensor[1], n: tw.i64):
    total = tw.zeros((8,), tw.i32)
    for _ in range(n):
        total += tw.load(x[0:8])
        tw.store(out[0], tw.sum(total))


@tw.kernel
def endless_on_one_worker(x: tw.Tensor["N"], out: tw.Tensor[1], n: tw.i64):
    if tw.program_id(0) == tw.num_programs(0) - 1:
        for i in range(n):
            tw.store(out[0], tw.load(x[0]) + tw.cast(i & 15, tw.i32))


@tw.kernel
def many_instances(x: tw.Tensor["N"], out: tw.Tensor[1]):
    tw.store(out[0], tw.load(x[0]))


@tw.kernel
def endless_barriers(x: tw.Window["N"], n: tw.i64):
    for _ in range(n):
        tw.barrier()


@tw.kernel
def endless_between_barriers(x: tw.Window["N"], n: tw.i64):
    tw.barrier()
    total = tw.cast(0, tw.i64)
    for i in range(n):
        total = (total + tw.load(x[0]) + i) & 1023
    tw.store(x[0], tw.cast(total, x.dtype))
    tw.barrier()


def in_world(kernel):
    with tw.init(virtual="2") as comm:
        kernel[1](comm.window((4,), tw.i32), HUGE)


X, OUT = np.zeros(8, np.int32), np.zeros(1, np.int32)
LAUNCHES = {
    "while": lambda: endless_while[1](X, OUT),
    "for": lambda: endless_for[1](X, OUT, HUGE),
    "for on all cores": lambda: endless_for[64](X, OUT, HUGE),
    "worker": lambda: endless_on_one_worker[256](X, OUT, HUGE),
    "instances": lambda: many_instances[2**31 - 1](X, OUT),
    "barriers": lambda: in_world(endless_barriers),
    "between barriers": lambda: in_world(endless_between_barriers),
}


def main():
    print("launching", flush=True)
    try:
        LAUNCHES[sys.argv[1]]()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    X[0] = 5
    many_instances[3](X, OUT)
    assert OUT[0] == 5
    print("launched again", flush=True)


if __name__ == "__main__":
    main()

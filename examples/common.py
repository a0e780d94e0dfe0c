"""What the examples share: arrays that lie where the ranks are, and a command line."""

import argparse
import os
import sys

import numpy as np
import tilewire as tw


def random(seed, shape, dtype=np.float32):
    """Normally distributed numbers of any float dtype."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def share_of(total, size, rank):
    """The part of `total` things that is rank `rank`'s, divided as torch.chunk does: a slice."""
    part = -(-total // size)
    return slice(min(rank * part, total), min((rank + 1) * part, total))


def to_device(comm, array):
    """A copy of a NumPy array: on the CPU another one, on a GPU a PyTorch tensor."""
    if not comm.target.is_cuda:
        return array.copy()
    import torch

    if array.dtype.name == "bfloat16":  # PyTorch doesn't know NumPy's
        return torch.from_numpy(array.view(np.int16)).to(comm.device).view(torch.bfloat16)
    return torch.from_numpy(array).to(comm.device)


def poisoned(comm, shape, dtype=np.float32):
    """An output that a kernel has to fill: NaN, or -1 where there is none."""
    dtype = np.dtype(dtype)
    return to_device(comm, np.full(shape, -1 if dtype.kind in "iu" else np.nan, dtype))


def window(comm, array):
    """Collective: a window that holds `array`, whose shape and dtype are the same on all ranks."""
    made = comm.window(array.shape, array.dtype)
    fill(comm, made, array)
    return made


def fill(comm, window, array):
    """Writes a NumPy array into this rank's copy of a window."""
    if comm.target.is_cuda:
        import torch

        torch.from_dlpack(window).copy_(to_device(comm, array))
    else:
        window.numpy()[...] = array


def side_stream(comm):
    """A stream beside the current one; the CPU has none."""
    if not comm.target.is_cuda:
        return None
    import torch

    return torch.cuda.Stream()


def to_host(comm, array):
    """A NumPy array of this rank's copy of a window, or of a tensor; floats in float64."""
    if comm.target.is_cuda:
        import torch

        comm.synchronize()
        tensor = torch.from_dlpack(array) if isinstance(array, tw.Window) else array
        array = tensor.double() if tensor.is_floating_point() else tensor
        return array.cpu().numpy()
    array = array.numpy() if isinstance(array, tw.Window) else array
    return array if array.dtype.kind in "iu" else array.astype(np.float64)


def check(found, expected, tolerance=0.0):
    """ValueError where a value is further from what is expected than `tolerance`, of 1 or of the
    value where that is larger; the largest such distance otherwise. NaN is never right."""
    expected = np.asarray(expected, dtype=np.float64)
    distance = np.abs(found - expected) / np.maximum(np.abs(expected), 1)
    largest = float(np.nan_to_num(distance, nan=np.inf).max(initial=0.0))
    if largest > tolerance:
        raise ValueError(f"the result is {largest:.2e} off, more than {tolerance:.2e}")
    return largest


def run(main, default_shape, shape_help, multimem=False):
    """Runs `main(comm, *shape)` on every rank and prints the line that it returns. `multimem`:
    whether virtual ranks have multicast addresses."""
    parser = argparse.ArgumentParser(description=main.__globals__["__doc__"].splitlines()[0])
    parser.add_argument("--world", default="8", help="number of virtual ranks on the CPU")
    parser.add_argument("--shape", default=default_shape, help=shape_help)
    parser.add_argument("--seed", type=int, help="of the virtual ranks' scheduler")
    arguments = parser.parse_args()
    shape = [int(part) for part in arguments.shape.split(",")]

    def on_rank(comm):
        if comm.target.is_cuda:
            import torch

            torch.cuda.set_device(comm.device)
        return f"{comm.size} ranks on {comm.device}: {main(comm, *shape)}"

    lines = tw.spawn(on_rank, world=arguments.world, seed=arguments.seed, multimem=multimem)
    if os.environ.get("RANK", "0") == "0":
        print(lines[0])
    sys.exit(0)

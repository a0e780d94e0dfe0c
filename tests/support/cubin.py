"""What a cubin says of its kernels."""

import struct

CUDA_INFO = 0x70000000  # the type of ELF sections .nv.info
FRAME_SIZE = 0x11  # an attribute there: symbol, bytes


def stack_bytes(cubin):
    """The largest stack frame of a kernel: spilled registers and arrays in local memory."""
    first, size, count = struct.unpack_from("<Q10xHH", cubin, 0x28)
    frames = []
    for header in range(first, first + size * count, size):
        kind, start, length = struct.unpack_from("<4xI16xQQ", cubin, header)
        at, end = start, start + (length if kind == CUDA_INFO else 0)
        while at < end:
            form, attribute, value = struct.unpack_from("<BBH", cubin, at)
            if attribute == FRAME_SIZE:
                frames.append(struct.unpack_from("<I", cubin, at + 8)[0])
            at += 4 + (value if form == 4 else 0)
    assert frames, "the cubin says nothing of its stack frames"
    return max(frames)

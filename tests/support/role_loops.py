"""What loops of generated CUDA text do that fill slots of the ring: every slot waits for it."""

import re


def filling_loops(text):
    """Their heads and bodies."""
    loops = re.findall(r"#pragma unroll 1\n( *)(for \([^{]*\) \{\n.*?\n)\1\}", text, re.DOTALL)
    return [loop for _, loop in loops if "ring.fill()" in loop]


def divides(text):
    """Whether there is a division by what only the launch knows."""
    return re.search(r"tw::(floordiv|mod)_index\(", text) is not None


def check_loops(text):
    loops = filling_loops(text)
    assert loops
    assert not any(map(divides, loops)), loops

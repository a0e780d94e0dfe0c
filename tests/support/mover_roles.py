"""What the mover and the consumers of a kernel with products do, from its lowered program."""

import re

import tilewire as tw
from tilewire import _tilewire

TARGET = "sm_90a:world=2"
TEXTS = {
    "a": "bf16[512,256]",
    "b": "bf16[512,256]",
    "operand": "window:bf16[512,256]",
    "part": "window:bf16[2,256,512]",
    "ready": "flag[64]",
    "free": "semaphore[2]",
    "log": "f32[512,512]",
    "journal": "f32[1,512,512]",
    "c": "bf16[256,512]",
    "result": "window:bf16[512,512]",
    "wide": "window:f32[512,512]",
    "numbers": "window:i32[64]",
}
OPS = [
    "put_tile", "take_tile", "await_moves", "receive_tile", "drain_tile", "fetch_tile",
    "finish_moves", "settle_moves", "flag_set", "flag_wait", "semaphore_signal", "tile_store",
    "tile_load", "tile_atomic", "lsa_barrier",
]  # fmt: skip


def text_of(kernel, stage, **constants):
    names = [each.name for each in kernel.signature.parameters]
    given = {name: TEXTS[name] for name in names if name in TEXTS}
    given |= {name: str(value) for name, value in constants.items()}
    program = kernel.program(TARGET, kernel.specialise_text(given))
    program.assume_ordinary_facts()
    return _tilewire.emit_stage(program, tw.Target(TARGET), stage).decode()


def roles(kernel, **constants):
    """The ops of the mover and of the consumers, in their order; without a mover, None is the
    first."""
    return roles_in(text_of(kernel, "lowered", **constants))


def roles_in(text):
    """The same of a lowered program's text."""
    producer = text.index("if %is_producer")
    consumers = text.index("\n  } else {", producer)
    mover = text.find("if %is_mover", producer)

    def ops(part):
        found = re.findall(r"^ *(?:%\S+ = )?(\w+)\(", part, re.MULTILINE)
        return [op for op in found if op in OPS]

    if mover < 0:
        return None, ops(text[consumers:])
    return ops(text[mover : text.index("\n    } else {", mover)]), ops(text[consumers:])

"""The programs of `examples/`, and shapes that they are tested with."""

import importlib.util
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"

# Shapes that neither the world nor a block divides, and some where most ranks have nothing.
SHAPES = {
    "02_all_reduce": ["1", "1023", "5000"],
    "03_all_reduce_two_shot": ["1", "1023", "9001"],
    "04_all_reduce_channels": ["1", "1025", "70001"],
    "05_all_reduce_ring": ["1", "2047", "40001"],
    "06_all_gather": ["1", "2049"],
    "07_reduce_scatter": ["1", "5", "10001"],
    "08_all_to_all": ["1", "1025"],
    "09_all_to_all_v": ["0,8", "1,8", "53,40"],
    "10_rms_norm_sharded": ["1,64", "2,200", "13,72"],
    "11_vocabulary_parallel": ["1,1,8", "5,5,8", "7,3001,24"],
    "12_pipeline": ["0,8", "1,7", "21,33"],
    "13_copy_engine_all_gather": ["1", "1025"],
    "14_gemm_reduce_scatter": ["1,1,1", "5,70,3", "77,33,101"],
    "15_all_gather_gemm": ["1,1,1", "5,70,3", "77,33,101"],
    "16_gemm_all_reduce": ["1,1,1", "5,70,3", "77,33,101"],
    "17_gated_mlp": ["1,1,1", "5,33,70", "77,40,300"],
    "18_all_reduce_multimem_one_shot": ["1", "1023", "5000"],
    "19_all_reduce_multimem_two_shot": ["1", "1023", "9001"],
    "20_all_to_all_put": ["1", "1025"],
    "21_hierarchical_all_reduce": ["1", "1023", "9001"],
    "22_hierarchical_all_gather": ["1", "2049"],
    "23_hierarchical_reduce_scatter": ["1", "5", "10001"],
    "24_hierarchical_all_to_all": ["1", "1025"],
    "25_rms_norm_hybrid": ["1,64", "2,200", "13,72"],
    "26_rms_norm_multimem": ["1,64", "2,200", "13,72"],
    "27_all_gather_task": ["1,1,1", "5,70,3", "77,33,101"],
    "28_split_k": ["1,1,1", "5,70,3", "33,40,1000"],
    "29_attention": ["1,1,1", "2,5,70", "3,33,100"],
}

MULTIMEM = [name for name in SHAPES if "multimem" in name]

# Those that reach every rank of any topology: by put, signal, send and barrier.
ANY_TOPOLOGY = ["04_all_reduce_channels", "05_all_reduce_ring", "12_pipeline"]
ANY_TOPOLOGY += [name for name in SHAPES if "20" <= name < "27" and name not in MULTIMEM]


def load(name, folder=EXAMPLES):
    sys.path.insert(0, str(EXAMPLES))
    try:
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(EXAMPLES))
    return module


def load_without(name, statement, number, folder):
    """The program without its `number`-th line that starts so; it is written to `folder`."""
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    found = [i for i, line in enumerate(lines) if line.strip().startswith(statement)]
    lines[found[number]] = lines[found[number]].replace(statement, "pass  # ", 1)
    (folder / f"{name}.py").write_text("\n".join(lines) + "\n")
    return load(name, folder)


def names():
    """All but the first, which has tests of its own."""
    files = sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))
    return [each.stem for each in files if not each.stem.startswith("01")]


def cases():
    """Every (name, shape)."""
    return [
        (name, [int(part) for part in shape.split(",")])
        for name in SHAPES
        for shape in SHAPES[name]
    ]

"""The command `tilewire`: `emit` shows what a kernel becomes, `doctor` what the machine has."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tilewire import _tilewire
from tilewire._tilewire import Target
from tilewire.errors import Error, UserError
from tilewire.kernel import Kernel

_EMIT_HELP = """\
SPEC describes an argument: `bf16[?,8192]` a tensor (`?`: known at run time), `window:bf16[?,8192]`
a window, `window*2:bf16[?,8192]` one that rotates over two copies, `f32` a scalar, `8192` a
constant. Constants that shapes give can be left out, and so can scalars. Objects are
`semaphore[8]`, `flag[2,64]` and `channel[2,64]:tagged:1:bf16[2048]`: depth 1, messages that are
`tagged`, `exchange`, or `reserved` (signed_zero=False). Tensors are taken to be contiguous and
aligned, as a framework allocates them; a launch knows of its own.

  tilewire emit examples/01_allreduce_rmsnorm.py:allreduce_rmsnorm --target sm_90a:world=8 \\
      --arg x=window:bf16[?,8192] --arg gain=bf16[8192] --arg y=bf16[?,8192] --stage cuda
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0, or 1 after an error, whose text goes to standard error."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except Error as error:
        print(f"tilewire: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # there, the reader has seen enough
            print(f"tilewire: standard output: {error.strerror}", file=sys.stderr)
        # What Python still holds goes nowhere, so that the interpreter ends without a word.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tilewire", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=_tilewire.__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    emit = commands.add_parser(
        "emit",
        help="print one stage of a kernel's way to machine code",
        epilog=_EMIT_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    emit.add_argument("kernel", metavar="FILE:KERNEL")
    emit.add_argument("--target", required=True, help="sm_90a:world=2,lsa=2 or cpu:world=2x4")
    emit.add_argument("--arg", action="append", default=[], metavar="NAME=SPEC", dest="specs")
    emit.add_argument(
        "--stage",
        default="ir",
        help="ir, lowered, then cuda, ptx, cubin for GPUs and llvm, object for the CPU",
    )
    emit.add_argument(
        "--general",
        action="store_true",
        help="for tensors of any strides and alignment",
    )
    emit.add_argument("-o", "--output", type=Path, metavar="FILE", help="else standard output")
    emit.set_defaults(run=_emit)
    doctor = commands.add_parser("doctor", help="show what this machine has, and what is missing")
    doctor.add_argument(
        "--distributed",
        action="store_true",
        help="under torchrun: what each rank has of what communication takes, and why not",
    )
    doctor.add_argument("--virtual", metavar="WORLD", help="the same of virtual ranks: 8, 2x4")
    doctor.add_argument("--device", default="cpu", help="of virtual ranks: cpu, or cuda")
    doctor.set_defaults(run=_doctor)
    return parser


def _emit(options: argparse.Namespace) -> int:
    kernel = _load_kernel(options.kernel)
    specs = {}
    for text in options.specs:
        name, equals, spec = text.partition("=")
        if not equals:
            raise UserError(f"--arg {text!r}: write NAME=SPEC, like x=bf16[?,8192]")
        specs[name] = spec
    target = Target(options.target)
    program = kernel.program(target, kernel.specialise_text(specs))
    if not options.general:
        program.assume_ordinary_facts()
    output = _tilewire.emit_stage(program, target, options.stage)
    if options.output is not None:
        try:
            options.output.write_bytes(output)
        except OSError as error:
            raise UserError(f"-o {options.output}: {error.strerror}") from error
    elif options.stage in ("cubin", "object") and sys.stdout.isatty():
        raise UserError(f"{options.stage} is binary: write it to a file with -o FILE")
    else:
        sys.stdout.buffer.write(output)
        sys.stdout.buffer.flush()
    return 0


def _load_kernel(text: str) -> Kernel:
    file, colon, name = text.rpartition(":")
    if not colon:
        raise UserError(f"{text!r}: write FILE:KERNEL, like examples/01_allreduce_rmsnorm.py:f")
    path = Path(file)
    if not path.is_file():
        raise UserError(f"there is no file {file!r}")
    spec = importlib.util.spec_from_file_location(f"_tilewire_emit_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UserError(f"{file!r} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Error:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(f"{file} can't be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    found = getattr(module, name, None)
    if not isinstance(found, Kernel):
        kernels = [key for key, value in vars(module).items() if isinstance(value, Kernel)]
        has = f"it has {', '.join(kernels)}" if kernels else "it has none"
        raise UserError(f"{file} has no kernel {name!r}; {has}")
    return found


def _doctor(options: argparse.Namespace) -> int:
    """0 also where something is missing: no machine has everything."""
    from tilewire import doctor

    if not options.distributed:
        if options.virtual is not None:
            raise UserError("--virtual goes with --distributed")
        doctor.report_machine()
    elif options.virtual is not None:
        doctor.report_virtual(options.virtual, options.device)
    else:
        doctor.report_ranks()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A kernel that prints, then one whose assertion fails; in a process of its own."""

import tilewire as tw
import torch


@tw.kernel
def say(x: tw.Tensor["N"], *, N: tw.const):
    tw.print("x is", tw.load(x[:]), "of", N)


@tw.kernel
def bounded(x: tw.Tensor["N"], *, N: tw.const):
    tw.assert_(tw.load(x[:]) < 5, "out of range")


if __name__ == "__main__":
    x = torch.arange(300, dtype=torch.float32, device="cuda")
    say[2](x)
    bounded[1](x[:5].clone())
    torch.cuda.synchronize()
    print("held", flush=True)
    bounded[1](x)
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        print("PyTorch:", error, flush=True)
    try:
        bounded[1](x)
    except tw.DeviceAssertionError as error:
        print("raised:", error, flush=True)

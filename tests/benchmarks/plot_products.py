"""A picture of what gemm_communication.py or matmul.py wrote: times in units of the product alone.

    python tests/benchmarks/plot_products.py result.json result.svg [--regime rested]

Needs matplotlib (`pip install matplotlib`), and no GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from product_report import relative_times


def draw(groups: dict[str, dict[str, dict[str, float]]], regime: str, machine: str) -> Any:
    """A row per group (an operation, a dtype): bars per shape, one for each candidate."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tilewire"})
    from matplotlib import pyplot

    width = max(11, 4 + max(map(len, groups.values())))
    figure, axes = pyplot.subplots(
        len(groups), 1, figsize=(width, 3.4 * len(groups)), squeeze=False, layout="constrained"
    )
    for axis, (title, shapes) in zip(axes[:, 0], groups.items(), strict=True):
        names = list(dict.fromkeys(name for each in shapes.values() for name in each))
        bar_width = 0.8 / max(map(len, shapes.values()), default=1)
        for name, color in zip(names, pyplot.get_cmap("tab20").colors * len(names), strict=False):
            places, heights = [], []
            for s, each in enumerate(shapes.values()):
                if name in each:  # side by side with those that were measured for this shape
                    place = list(each).index(name) - (len(each) - 1) / 2
                    places.append(s + place * bar_width)
                    heights.append(each[name])
            bars = axis.bar(places, heights, bar_width, label=name, color=color)
            labels = [f"{height:.2f}" for height in heights]
            axis.bar_label(bars, labels, fontsize=6, rotation=90, padding=2)
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set_xticks(range(len(shapes)), list(shapes), fontsize=7, rotation=15)
        axis.set_ylabel("time / product alone")
        axis.set_title(f"{title}, {regime}", loc="left", fontsize=10)
        axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        axis.margins(y=0.2)
    figure.suptitle(machine, fontsize=8)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("picture", type=Path, help="its name's end says the format: .svg, .png")
    parser.add_argument("--regime", default="rested")
    arguments = parser.parse_args()
    result = json.loads(arguments.result.read_text())
    machine = f"{result['machine']['gpus'][0]}, PyTorch {result['machine']['torch']}"
    figure = draw(relative_times(result, arguments.regime), arguments.regime, machine)
    metadata = (
        {"Date": None} if arguments.picture.suffix == ".svg" else None
    )  # same input, same bytes
    figure.savefig(arguments.picture, metadata=metadata)


if __name__ == "__main__":
    main()

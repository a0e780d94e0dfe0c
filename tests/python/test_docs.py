"""The code of the language's pages runs, block after block, as a reader would type it."""

import linecache
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    "page", ["communication.md", "fused_products.md", "language.md", "memory.md", "work.md"]
)
def test_blocks_run(page):
    names = {}
    path = DOCS / page
    text = path.read_text()
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert len(blocks) >= 2
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        source = "\n" * line + block[1]  # lines as in the page
        name = f"{path}#{line}"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), names)

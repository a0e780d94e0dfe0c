"""The code of docs/python.md runs, block after block, as a reader would type it."""

import linecache
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/python.md"


def test_blocks_run():
    names = {}
    text = PAGE.read_text()
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert len(blocks) >= 4
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        source = "\n" * line + block[1]  # lines as in the page
        name = f"{PAGE}#{line}"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), names)

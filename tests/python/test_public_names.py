"""Names of the language stand in `tilewire` whatever else of the package is imported."""

import subprocess
import sys

PROGRAM = """
import importlib, pkgutil
import tilewire as tw
from tilewire.language import NAMES
for module in pkgutil.iter_modules(tw.__path__):
    importlib.import_module("tilewire." + module.name)
hidden = [name for name, value in NAMES.items() if getattr(tw, name) is not value]
assert not hidden, f"a module of the package hides tw.{hidden[0]}"
"""


def test_no_module_of_the_package_hides_a_name_of_the_language():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

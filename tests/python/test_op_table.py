"""Each op of the table has a case, which makes its golden, its test against float64, and its NVRTC
compiles (tests/support/op_cases); and a line in docs/ops.md. tests/python/test_parity.py asks for a
method of the Builder and a spelling in Python."""

import re
from pathlib import Path

import pytest
from op_cases import ops_covered
from op_cases.lowered import LOWERED_FROM
from op_cases.run import emit
from tilewire import _tilewire

ROOT = Path(__file__).parents[2]
TABLE = {info.name: info for info in _tilewire.op_table()}
_texts = {}


def ops_of(case, stage):
    """The ops of a case's program for CUDA, as the frontend builds it or lowered."""
    if (case.name, stage) not in _texts:
        text = emit(case, case.dtypes[0], None, stage).decode()
        _texts[case.name, stage] = set(re.findall(r"^\s*(?:%.* = )?(\w+)\(", text, re.MULTILINE))
    return _texts[case.name, stage]


def cases_of(info):
    op = LOWERED_FROM[info.name] if info.stage == "lowered" else info.name
    return ops_covered().get(op, [])


@pytest.mark.parametrize("info", TABLE.values(), ids=TABLE)
def test_every_op_has_a_case_whose_program_holds_it(info):
    if info.stage == "lowered":
        assert info.name in LOWERED_FROM, "say in op_cases/lowered.py which op is lowered to it"
    cases = cases_of(info)
    assert cases, "add a case of it: docs/adding_an_op.md"
    stage = "ir" if info.stage == "frontend" else "lowered"
    missing = [case.name for case in cases if info.name not in ops_of(case, stage)]
    assert len(missing) < len(cases) if info.stage == "lowered" else not missing


@pytest.mark.parametrize("info", TABLE.values(), ids=TABLE)
def test_every_op_has_a_golden_and_a_line_in_the_docs(info):
    for case in cases_of(info):
        assert (ROOT / f"tests/codegen/golden/ops/{case.name}.cu").is_file()
    assert f"\n| `{info.name}` | {info.summary}" in (ROOT / "docs/ops.md").read_text()


def test_cases_cover_only_what_the_table_has():
    assert set(ops_covered()) <= {name for name, info in TABLE.items() if info.stage != "lowered"}
    lowered = {name for name, info in TABLE.items() if info.stage == "lowered"}
    assert set(LOWERED_FROM) == lowered and set(LOWERED_FROM.values()) <= set(TABLE)

"""The rules of memory order, over the PTX of every golden (tests/support/ptx_rules.py)."""

import concurrent.futures
import multiprocessing
import os
import re
from pathlib import Path

import pytest
from ptx import functions_of
from ptx_rules import violations
from tilewire import _tilewire

FOLDER = Path(__file__).parents[1] / "codegen/golden"
GOLDENS = sorted(FOLDER.rglob("*.cu"))
NAMES = [str(path.relative_to(FOLDER).with_suffix("")) for path in GOLDENS]

pytestmark = pytest.mark.skipif(
    any(each.name == "NVRTC" and each.problem for each in _tilewire.report_components()),
    reason="NVRTC is not installed",
)


def architecture_of(source):
    """What the golden was made for."""
    return re.search(r"target +(sm_\w+)", source).group(1)


def ptx_of(name):
    source = (FOLDER / f"{name}.cu").read_text()
    return _tilewire.ptx_of(source, f"{Path(name).name}.cu", architecture_of(source))


@pytest.fixture(scope="module")
def compiled(request):
    """Golden → its PTX, by a process per core: NVRTC compiles one kernel at a time in each."""
    names = [
        e.callspec.params["name"]
        for e in request.session.items
        if "compiled" in e.fixturenames and hasattr(e, "callspec")
    ]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        yield {name: pool.submit(ptx_of, name) for name in names}


@pytest.mark.parametrize("name", NAMES)
def test_golden_holds_the_rules(name, compiled):
    source = (FOLDER / f"{name}.cu").read_text()
    if "network.get<" in source and not _tilewire.network_has_get():
        pytest.skip("this NCCL reads no other rank's memory over the network")
    assert violations(source, compiled[name].result()) == []


# What breaks each rule must be found: PTX of a golden, changed as a wrong template would.


def replaced(name, old, new, count=0):
    """The rules that a golden's PTX breaks once something in it is replaced."""
    source, ptx = (FOLDER / f"{name}.cu").read_text(), ptx_of(name)
    changed = re.sub(old, new, ptx, count=count)
    assert changed != ptx, f"{name} has no {old}"
    assert violations(source, ptx) == []
    return {each.split(":")[0] for each in violations(source, changed)}


BARRIERS = "ops/meet_on_all_ranks"
LOCAL = "ops/meet_on_one_rank"
STAGED = "ops/staged_matmul_of_a_window"
GATHERED = "ops/staged_matmul_of_gathered_rows"
# Behind the producer's wait alone.
ITS_FENCE = r"(ProducerThread\w+, [^@]*?)fence\.proxy\.async;"
COPIES = "ops/put_views"
AHEAD = "ops/matmul_ahead"
PUTS = "network_puts_2x4"
ATOMICS = "ops/atomic_at_peers"
ALIASES = "ops/multimem_beside_plain"
INTO_ALL = "ops/reduce_into_all_copies"


@pytest.mark.parametrize(
    ("name", "old", "new", "rule"),
    [
        (BARRIERS, r"ld\.global\.", "ld.global.nc.", "only_constants_go_through"),
        (BARRIERS, r"// arrive released", "", "strong_accesses_say"),
        (BARRIERS, r"fence\.acq_rel\.sys;", "", "arrivals_that_release"),
        (BARRIERS, r"fence\.acq_rel\.sys;", "fence.acq_rel.gpu;", "arrivals_that_release"),
        (LOCAL, r"fence\.acq_rel\.gpu;", "", "arrivals_that_release"),
        (BARRIERS, r"// arrive released", "// arrive", "arrivals_that_release"),
        (BARRIERS, r"bar\.sync", "fence.acq_rel.sys;\nfence.acq_rel.gpu;\nbar.sync", "nothing_is"),
        (LOCAL, r"ld\.acquire\.gpu", "ld.relaxed.gpu", "polls_acquire"),
        (BARRIERS, r"ld\.acquire\.sys", "ld.relaxed.sys", "polls_acquire"),
        (LOCAL, r"red\.relaxed\.gpu", "red.relaxed.sys", "scopes_reach"),
        (BARRIERS, r"red\.relaxed\.sys", "red.relaxed.gpu", "scopes_reach"),
        (ATOMICS, r"red\.relaxed\.sys", "red.relaxed.gpu", "scopes_reach"),
        (COPIES, r"wait_group 0", "wait_group.read 0", "bulk_stores_are_over"),
        (COPIES, r"cp\.async\.bulk\.wait_group 0;", "", "bulk_stores_are_over"),
        (COPIES, r"fence\.proxy\.async;", "", "bulk_loads_see"),
        (STAGED, r"fence\.proxy\.async;", "", "bulk_loads_see"),
        (GATHERED, ITS_FENCE, r"\1", "bulk_loads_see"),
        (AHEAD, r"cp\.async\.wait_group 1;", "", "copies_to_slots"),
        (AHEAD, r"cp\.async\.wait_group 1;", "cp.async.wait_group 2;", "copies_to_slots"),
        (AHEAD, r"(wait_group 1;\s*(//.*\s*)*)bar\.sync[^;]*;", r"\1", "copies_to_slots"),
        (PUTS, r"fence\.acq_rel\.sys;", "", "puts_stand_behind"),
        (PUTS, r"fence\.acq_rel\.sys;", "fence.acq_rel.gpu;", "puts_stand_behind"),
        (PUTS, r"(fence\.acq_rel\.sys;)", r"\1\nst.global.u32 [%rd1], %r1;", "puts_stand_behind"),
        (PUTS, r"ld\.acquire\.sys\.b64", "ld.relaxed.sys.b64", "signals_of_the_network"),
        (PUTS, r"(atom|red)\.shared[^;]*;", "", "calls_of_nccl"),
        (PUTS, r"call\.uni\s[^;]*watch_calls[^;]*;", "", "calls_of_nccl"),
        (ALIASES, r"fence\.proxy\.alias;", "", "multicast_addresses_are_fenced"),
        (ALIASES, r"fence\.proxy\.alias;", "fence.acq_rel.sys;", "multicast_addresses_are_fenced"),
        (ALIASES, r"ld_reduce\.weak", "ld_reduce.relaxed.sys", "strong_accesses_say"),
        (INTO_ALL, r"multimem\.red\.relaxed\.sys", "multimem.red.relaxed.gpu", "scopes_reach"),
        (INTO_ALL, r"(multimem\.red.*)// atomic", r"\1", "strong_accesses_say"),
        (BARRIERS, r"\.reg ", ".local .align 16 .b8 depot[16];\n.reg ", "kernels_that"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_found(name, old, new, rule):
    assert any(each.startswith(rule) for each in replaced(name, old, new))


def test_a_store_between_fence_and_arrival_is_found():
    broken = replaced(
        BARRIERS, r"fence\.acq_rel\.sys;", "fence.acq_rel.sys;\nst.global.v4.u32 [%rd1], {%r1};"
    )
    assert "arrivals_that_release_stand_behind_a_fence" in broken


@pytest.mark.parametrize("number", range(2))
def test_each_fence_between_kinds_of_addresses_is_needed(number):
    source, ptx = (FOLDER / f"{ALIASES}.cu").read_text(), ptx_of(ALIASES)
    parts = ptx.split("fence.proxy.alias;")
    assert len(parts) == 3
    parts[number : number + 2] = ["".join(parts[number : number + 2])]
    without = "fence.proxy.alias;".join(parts)
    found = {each.split(":")[0] for each in violations(source, without)}
    assert found == {"multicast_addresses_are_fenced_from_others"}


def test_a_fence_on_one_of_two_ways_is_no_fence():
    ptx = """
.visible .entry k_kernel()
{
  @%p1 bra $L1;
  fence.acq_rel.sys;
  $L1:
  st.relaxed.sys.global.u32 [%rd1], %r1; // arrive released
  ret;
}
"""
    (function,) = functions_of(ptx)
    assert function.instructions[0].name == "bra"
    source = '// target sm_90a:world=2\nextern "C" k_kernel() {\n}'
    assert "arrivals" in violations(source, ptx)[0]
    assert violations(source.replace("{", "{ barrier.sync<tw::Order::kRelease>(0);"),
                      ptx.replace("@%p1 bra $L1;", "")) == []  # fmt: skip

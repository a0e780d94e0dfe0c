#pragma once

#include "compiler/ops/op.h"

namespace tilewire {

// One maker per op or family of ops, each defined in the file named. `table.cpp` lists them.

std::vector<OpInfo> scalar_ops();       // scalars.cpp
std::vector<OpInfo> view_ops();         // views.cpp
std::vector<OpInfo> memory_ops();       // memory.cpp
std::vector<OpInfo> arithmetic_ops();   // arithmetic.cpp
std::vector<OpInfo> comparison_ops();   // comparison.cpp
std::vector<OpInfo> math_ops();         // math.cpp
std::vector<OpInfo> shape_ops();        // shapes.cpp
std::vector<OpInfo> reduce_ops();       // reduce.cpp
std::vector<OpInfo> arg_reduce_ops();   // arg_reduce.cpp
std::vector<OpInfo> scan_ops();         // scan.cpp
std::vector<OpInfo> move_ops();         // moves.cpp
std::vector<OpInfo> stack_ops();        // stack.cpp
std::vector<OpInfo> sort_ops();         // sort.cpp
OpInfo histogram_op();                  // histogram.cpp
std::vector<OpInfo> bit_ops();          // bits.cpp
OpInfo relayout_op();                   // relayout.cpp
OpInfo cast_op();                       // cast.cpp
OpInfo philox_op();                     // random.cpp
OpInfo select_op();                     // select.cpp
std::vector<OpInfo> atomic_ops();       // atomic.cpp
OpInfo inline_cuda_op();                // inline_cuda.cpp
std::vector<OpInfo> report_ops();       // report.cpp
OpInfo matmul_op();                     // matmul.cpp
std::vector<OpInfo> staging_ops();      // staging.cpp
std::vector<OpInfo> common_ring_ops();  // common_ring.cpp
std::vector<OpInfo> mover_ops();        // mover.cpp
std::vector<OpInfo> flag_ops();         // flag.cpp
std::vector<OpInfo> generation_ops();   // generation.cpp
std::vector<OpInfo> barrier_ops();      // barrier.cpp
std::vector<OpInfo> put_ops();          // put.cpp
std::vector<OpInfo> semaphore_ops();    // semaphore.cpp
std::vector<OpInfo> channel_ops();      // channel.cpp
std::vector<OpInfo> network_ops();      // network.cpp
std::vector<OpInfo> multimem_ops();     // multimem.cpp
std::vector<OpInfo> task_ops();         // task.cpp

std::vector<OpInfo> reshaped_view_ops();  // reshaped_views.cpp
std::vector<OpInfo> prefetch_ops();       // prefetch.cpp
OpInfo next_index_op();                   // next_index.cpp
OpInfo arrive_op();                       // arrive.cpp

}  // namespace tilewire

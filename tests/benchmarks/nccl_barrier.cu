// What `tests/benchmarks/barrier.py` compares with: NCCL's own barrier session, the way its
// documentation shows it. One meeting of the CTAs with one index on all ranks of the LSA team.
#include <nccl_device.h>

extern "C" __global__ void nccl_barrier(const __grid_constant__ ncclDevComm comm, int rounds) {
  ncclLsaBarrierSession<ncclCoopCta> session(ncclCoopCta(), comm, ncclTeamLsa(comm),
                                             comm.lsaBarrier, blockIdx.x);
  for (int i = 0; i < rounds; ++i) session.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

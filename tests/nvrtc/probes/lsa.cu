// What NCCL's headers offer inside of an LSA team: pointers to peers, its barrier.
#include <nccl_device.h>

extern "C" __global__ void kernel(const __grid_constant__ ncclDevComm comm, ncclWindow_t window,
                                  float* y) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  float sum = 0;
  for (int rank = 0; rank < comm.lsaSize; ++rank) {
    sum += static_cast<float*>(ncclGetLsaPointer(window, 0, rank))[threadIdx.x];
  }
  y[threadIdx.x] = sum + static_cast<float*>(ncclGetLocalPointer(window, 0))[threadIdx.x];
  barrier.sync(ncclCoopCta(), cuda::memory_order_relaxed);
}

// The network. The test leaves back ends out by defining NCCL_GIN_…_ENABLE in front of it.
#include <nccl_device.h>

extern "C" __global__ void kernel(const __grid_constant__ ncclDevComm comm, ncclWindow_t to,
                                  ncclWindow_t from, size_t num_bytes, uint64_t* seen) {
  const ncclGin gin(comm, static_cast<int>(blockIdx.x) % 4);
  const ncclTeam world = ncclTeamWorld(comm);
  const int peer = (comm.rank + 1) % comm.nRanks;
  const uint64_t before = gin.readSignal(5);
  if (threadIdx.x == 0) {
    gin.put(world, peer, to, 0, from, 64, num_bytes);
    gin.put(world, peer, to, 0, from, 64, num_bytes, ncclGin_SignalInc{4});
    gin.putValue(world, peer, to, 128, num_bytes, ncclGin_SignalAdd{5, 2});
    gin.signal(world, peer, ncclGin_SignalAdd{5, 1});
    gin.signal(ncclTeamRail(comm), 0, ncclGin_SignalInc{4});
  }
  gin.flush(ncclCoopCta());
  gin.waitSignal(ncclCoopCta(), 5, before + 3);
  gin.waitSignal(ncclCoopWarp(), 4, 1);
  seen[blockIdx.x] = gin.readSignal(4, 32, cuda::memory_order_relaxed);
}

// A read from rank 1 over the network.
#include <nccl_device.h>

#include "tilewire/network.cuh"

namespace tw = tilewire::device;

extern "C" __global__ void probe(const __grid_constant__ tw::WindowHandle to,
                                 const __grid_constant__ tw::WindowHandle from, int64_t n,
                                 const __grid_constant__ ncclDevComm comm,
                                 const __grid_constant__ tw::Lane lane) {
  tw::Network network(comm, lane, 0);
  network.get<4>(to, 0, from, 1, 0, tw::CopyDim{n, 128, 128}, tw::CopyDim{n, 1, 1});
  network.flush();
}

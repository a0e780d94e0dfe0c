// Stands in for CUDA's host headers (`cuda.h`, `cuda_runtime.h`, `cuda_fp16.h`, …), of which NCCL's
// device headers need nothing but versions and the names of a few host types.
#pragma once

#if defined(__CUDACC_RTC__)

#ifndef CUDART_VERSION
#define CUDART_VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)
#endif
#ifndef CUDA_VERSION
#define CUDA_VERSION CUDART_VERSION
#endif

using cudaStream_t = struct CUstream_st*;
using CUstream = cudaStream_t;
using cudaEvent_t = struct CUevent_st*;
using CUdeviceptr = unsigned long long;
// An enumeration of the driver API, in structs that kernels see: an int.
enum CUmemLocationType : int {
  CU_MEM_LOCATION_TYPE_INVALID = 0,
  CU_MEM_LOCATION_TYPE_DEVICE = 1,
  CU_MEM_LOCATION_TYPE_HOST = 2,
  CU_MEM_LOCATION_TYPE_HOST_NUMA = 3,
  CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 4
};

#endif  // __CUDACC_RTC__

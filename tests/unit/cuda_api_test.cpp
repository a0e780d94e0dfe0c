#include "runtime/driver/cuda_api.h"

#include <cstddef>

#include "runtime/driver/driver.h"
#include "templates/tilewire/abi.cuh"
#include "tests/catch.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#define TILEWIRE_HAVE_CUDA_HEADER 1
#endif

namespace tilewire {

TEST_CASE("architecture names carry the suffix that wgmma needs from Hopper on") {
  CHECK(architecture_name(90) == "sm_90a");
  CHECK(architecture_name(100) == "sm_100a");
  CHECK(architecture_name(89) == "sm_89");
}

#if defined(TILEWIRE_HAVE_CUDA_HEADER)

TEST_CASE("the declarations of the driver API are those of cuda.h") {
  STATIC_REQUIRE(sizeof(cuda::LaunchConfig) == sizeof(CUlaunchConfig));
  STATIC_REQUIRE(offsetof(cuda::LaunchConfig, shared_bytes) ==
                 offsetof(CUlaunchConfig, sharedMemBytes));
  STATIC_REQUIRE(offsetof(cuda::LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
  STATIC_REQUIRE(offsetof(cuda::LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
  STATIC_REQUIRE(offsetof(cuda::LaunchConfig, num_attributes) ==
                 offsetof(CUlaunchConfig, numAttrs));
  STATIC_REQUIRE(sizeof(cuda::LaunchAttribute) == sizeof(CUlaunchAttribute));
  STATIC_REQUIRE(offsetof(cuda::LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
  STATIC_REQUIRE(sizeof(cuda::AllocationProperties) == sizeof(CUmemAllocationProp));
  STATIC_REQUIRE(offsetof(cuda::AllocationProperties, location) ==
                 offsetof(CUmemAllocationProp, location));
  STATIC_REQUIRE(sizeof(cuda::AccessDescription) == sizeof(CUmemAccessDesc));
  STATIC_REQUIRE(sizeof(cuda::MemoryHandle) == sizeof(CUmemGenericAllocationHandle));

  STATIC_REQUIRE(sizeof(cuda::RowsCopy) == sizeof(CUDA_MEMCPY2D));
  STATIC_REQUIRE(offsetof(cuda::RowsCopy, from) == offsetof(CUDA_MEMCPY2D, srcXInBytes));
  STATIC_REQUIRE(offsetof(cuda::CopySide, device) == offsetof(CUDA_MEMCPY2D, srcDevice));
  STATIC_REQUIRE(offsetof(cuda::CopySide, pitch) == offsetof(CUDA_MEMCPY2D, srcPitch));
  STATIC_REQUIRE(offsetof(cuda::RowsCopy, to) == offsetof(CUDA_MEMCPY2D, dstXInBytes));
  STATIC_REQUIRE(offsetof(cuda::RowsCopy, row_bytes) == offsetof(CUDA_MEMCPY2D, WidthInBytes));
  STATIC_REQUIRE(cuda::kMemoryUnified == CU_MEMORYTYPE_UNIFIED);

  STATIC_REQUIRE(cuda::kErrorInvalidValue == CUDA_ERROR_INVALID_VALUE);
  STATIC_REQUIRE(cuda::kErrorNoDevice == CUDA_ERROR_NO_DEVICE);
  STATIC_REQUIRE(cuda::kErrorInvalidContext == CUDA_ERROR_INVALID_CONTEXT);
  STATIC_REQUIRE(cuda::kErrorInvalidHandle == CUDA_ERROR_INVALID_HANDLE);
  STATIC_REQUIRE(cuda::kErrorNotReady == CUDA_ERROR_NOT_READY);
  STATIC_REQUIRE(cuda::kErrorIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS);
  STATIC_REQUIRE(cuda::kErrorLaunchFailed == CUDA_ERROR_LAUNCH_FAILED);
  STATIC_REQUIRE(cuda::kErrorCaptureImplicit == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  STATIC_REQUIRE(cuda::kAttributeMultiprocessorCount == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  STATIC_REQUIRE(cuda::kAttributeComputeCapabilityMajor ==
                 CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  STATIC_REQUIRE(cuda::kAttributeComputeCapabilityMinor ==
                 CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  STATIC_REQUIRE(cuda::kAttributeMaxSharedMemoryPerBlockOptin ==
                 CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  STATIC_REQUIRE(cuda::kAttributeMulticastSupported == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
  STATIC_REQUIRE(cuda::kPeerAccess == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED);
  STATIC_REQUIRE(cuda::kPeerNativeAtomics == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
  STATIC_REQUIRE(cuda::kAttributeMaxBlocksPerMultiprocessor ==
                 CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  STATIC_REQUIRE(cuda::kFunctionMaxDynamicSharedBytes ==
                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  STATIC_REQUIRE(cuda::kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
  STATIC_REQUIRE(cuda::kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
  STATIC_REQUIRE(cuda::kHostAllocPortable == CU_MEMHOSTALLOC_PORTABLE);
  STATIC_REQUIRE(cuda::kHostAllocDeviceMap == CU_MEMHOSTALLOC_DEVICEMAP);
  STATIC_REQUIRE(static_cast<int>(cuda::kCaptureActive) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  STATIC_REQUIRE(cuda::kCaptureModeRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
  STATIC_REQUIRE(cuda::kLaunchAttributeCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  STATIC_REQUIRE(cuda::kLaunchAttributeClusterDimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  STATIC_REQUIRE(cuda::kMemoryPinned == CU_MEM_ALLOCATION_TYPE_PINNED);
  STATIC_REQUIRE(cuda::kLocationDevice == CU_MEM_LOCATION_TYPE_DEVICE);
  STATIC_REQUIRE(cuda::kAccessReadWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
#if CUDA_VERSION >= 12000
  STATIC_REQUIRE(sizeof(device::TensorMap) == sizeof(CUtensorMap));
  // 128 bytes from CUDA 13 on, of which its functions still demand 64.
  STATIC_REQUIRE(alignof(CUtensorMap) % alignof(device::TensorMap) == 0);
  STATIC_REQUIRE(cuda::kMapUint8 == CU_TENSOR_MAP_DATA_TYPE_UINT8);
  STATIC_REQUIRE(cuda::kMapTfloat32 == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
  STATIC_REQUIRE(cuda::kMapUint16 == CU_TENSOR_MAP_DATA_TYPE_UINT16);
  STATIC_REQUIRE(cuda::kMapUint32 == CU_TENSOR_MAP_DATA_TYPE_UINT32);
  STATIC_REQUIRE(cuda::kMapUint64 == CU_TENSOR_MAP_DATA_TYPE_UINT64);
  STATIC_REQUIRE(cuda::kMapInterleaveNone == CU_TENSOR_MAP_INTERLEAVE_NONE);
  STATIC_REQUIRE(cuda::kMapSwizzleNone == CU_TENSOR_MAP_SWIZZLE_NONE);
  STATIC_REQUIRE(cuda::kMapSwizzle32Bytes == CU_TENSOR_MAP_SWIZZLE_32B);
  STATIC_REQUIRE(cuda::kMapSwizzle64Bytes == CU_TENSOR_MAP_SWIZZLE_64B);
  STATIC_REQUIRE(cuda::kMapSwizzle128Bytes == CU_TENSOR_MAP_SWIZZLE_128B);
  STATIC_REQUIRE(cuda::kMapPromotion128Bytes == CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  STATIC_REQUIRE(cuda::kMapFillZeros == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
#endif
  STATIC_REQUIRE(cuda::kGranularityMinimum == CU_MEM_ALLOC_GRANULARITY_MINIMUM);
}

TEST_CASE("the function pointers take what cuda.h's functions take") {
  // Same number and size of parameters: pointers and handles differ in type by design.
  const auto arity = []<typename... Ours, typename... Theirs>(cuda::Result (*)(Ours...),
                                                              CUresult (*)(Theirs...)) {
    static_assert(sizeof...(Ours) == sizeof...(Theirs));
    static_assert(((sizeof(Ours) == sizeof(Theirs)) && ...));
    return sizeof...(Ours);
  };
  const cuda::Api api;
  CHECK(arity(api.launch, static_cast<decltype(&cuLaunchKernelEx)>(nullptr)) == 4);
  CHECK(arity(api.occupancy,
              static_cast<decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor)>(nullptr)) == 4);
  CHECK(arity(api.max_active_clusters,
              static_cast<decltype(&cuOccupancyMaxActiveClusters)>(nullptr)) == 3);
  CHECK(arity(api.memory_map, static_cast<decltype(&cuMemMap)>(nullptr)) == 5);
  CHECK(arity(api.address_reserve, static_cast<decltype(&cuMemAddressReserve)>(nullptr)) == 5);
  CHECK(arity(api.memory_create, static_cast<decltype(&cuMemCreate)>(nullptr)) == 4);
  CHECK(arity(api.memory_set_access, static_cast<decltype(&cuMemSetAccess)>(nullptr)) == 4);
  CHECK(arity(api.host_alloc, static_cast<decltype(&cuMemHostAlloc)>(nullptr)) == 3);
  CHECK(arity(api.copy_to_host, static_cast<decltype(&cuMemcpyDtoHAsync)>(nullptr)) == 4);
  CHECK(arity(api.copy_bytes, static_cast<decltype(&cuMemcpyDtoDAsync)>(nullptr)) == 4);
  CHECK(arity(api.copy_rows, static_cast<decltype(&cuMemcpy2DAsync)>(nullptr)) == 2);
  CHECK(arity(api.fill_bytes, static_cast<decltype(&cuMemsetD8Async)>(nullptr)) == 4);
  CHECK(arity(api.stream_begin_capture, static_cast<decltype(&cuStreamBeginCapture)>(nullptr)) ==
        2);
  CHECK(arity(api.exchange_capture_mode,
              static_cast<decltype(&cuThreadExchangeStreamCaptureMode)>(nullptr)) == 1);
  CHECK(arity(api.graph_instantiate, static_cast<decltype(&cuGraphInstantiate)>(nullptr)) == 3);
#if CUDA_VERSION >= 12000
  CHECK(arity(api.encode_tiled, static_cast<decltype(&cuTensorMapEncodeTiled)>(nullptr)) == 12);
#endif
  CHECK(arity(api.event_elapsed, static_cast<decltype(&cuEventElapsedTime)>(nullptr)) == 3);
}

#endif

}  // namespace tilewire

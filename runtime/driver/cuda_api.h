#pragma once

#include <cstddef>
#include <cstdint>

/// The part of the CUDA Driver API that tilewire calls, declared here so that building needs no
/// toolkit. Layouts and numbers are those of `cuda.h`; a unit test compares them where it is found.
namespace tilewire::cuda {

using Result = int;
using DeviceOrdinal = int;
using DevicePointer = std::uint64_t;
using MemoryHandle = std::uint64_t;
using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using Graph = struct OpaqueGraph*;
using GraphNode = struct OpaqueGraphNode*;
using GraphExec = struct OpaqueGraphExec*;

inline constexpr Result kSuccess = 0;
inline constexpr Result kErrorInvalidValue = 1;
inline constexpr Result kErrorNoDevice = 100;
inline constexpr Result kErrorInvalidContext = 201;
inline constexpr Result kErrorInvalidHandle = 400;
inline constexpr Result kErrorNotReady = 600;
inline constexpr Result kErrorIllegalAddress = 700;
inline constexpr Result kErrorAssert = 710;
inline constexpr Result kErrorLaunchFailed = 719;
inline constexpr Result kErrorCaptureImplicit = 906;

inline constexpr int kAttributeMultiprocessorCount = 16;
inline constexpr int kAttributeComputeCapabilityMajor = 75;
inline constexpr int kAttributeComputeCapabilityMinor = 76;
inline constexpr int kAttributeMaxSharedMemoryPerBlockOptin = 97;
inline constexpr int kAttributeMaxBlocksPerMultiprocessor = 106;
inline constexpr int kAttributeMulticastSupported = 132;
inline constexpr int kPeerAccess = 2;
inline constexpr int kPeerNativeAtomics = 3;

inline constexpr int kFunctionMaxThreadsPerBlock = 0;
inline constexpr int kFunctionStaticSharedBytes = 1;
inline constexpr int kFunctionLocalBytes = 3;
inline constexpr int kFunctionNumRegisters = 4;
inline constexpr int kFunctionMaxDynamicSharedBytes = 8;

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kHostAllocDeviceMap = 2;

enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };
inline constexpr int kCaptureModeGlobal = 0;
inline constexpr int kCaptureModeRelaxed = 2;

inline constexpr int kLaunchAttributeCooperative = 2;
inline constexpr int kLaunchAttributeClusterDimension = 4;

struct LaunchAttribute {
  int id;
  char padding[4];
  union Value {
    char padding[64];
    int cooperative;
    unsigned cluster[3];
  } value;
};

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned num_attributes;
};

inline constexpr int kMemoryPinned = 1;
inline constexpr int kLocationDevice = 1;
inline constexpr int kAccessReadWrite = 3;
inline constexpr int kGranularityMinimum = 0;

struct MemoryLocation {
  int type;
  int id;
};

struct AllocationProperties {
  int type;
  int requested_handle_types;
  MemoryLocation location;
  void* win32_handle;
  unsigned char compression;
  unsigned char rdma_capable;
  unsigned short usage;
  unsigned char reserved[4];
};

struct AccessDescription {
  MemoryLocation location;
  int flags;
};

inline constexpr int kMapUint8 = 0;
inline constexpr int kMapUint16 = 1;
inline constexpr int kMapUint32 = 2;
inline constexpr int kMapUint64 = 4;
inline constexpr int kMapTfloat32 = 11;
inline constexpr int kMapInterleaveNone = 0;
inline constexpr int kMapSwizzleNone = 0;
inline constexpr int kMapSwizzle32Bytes = 1;
inline constexpr int kMapSwizzle64Bytes = 2;
inline constexpr int kMapSwizzle128Bytes = 3;
inline constexpr int kMapPromotion128Bytes = 2;
inline constexpr int kMapFillZeros = 0;

inline constexpr int kMemoryUnified = 4;

/// One side of a copy of rows; addresses say by themselves where they lie.
struct CopySide {
  std::size_t first_byte_of_row;
  std::size_t first_row;
  int memory;  ///< kMemoryUnified
  const void* host;
  DevicePointer device;
  void* array;
  std::size_t pitch;
};

struct RowsCopy {
  CopySide from;
  CopySide to;
  std::size_t row_bytes;
  std::size_t num_rows;
};

/// X(member, exported symbol, parameters…). Symbols carry the version suffix that `cuda.h` hides.
#define TILEWIRE_CUDA_FUNCTIONS(X)                                                                 \
  X(init, cuInit, unsigned)                                                                        \
  X(driver_version, cuDriverGetVersion, int*)                                                      \
  X(error_name, cuGetErrorName, Result, const char**)                                              \
  X(error_string, cuGetErrorString, Result, const char**)                                          \
  X(device_count, cuDeviceGetCount, int*)                                                          \
  X(device_name, cuDeviceGetName, char*, int, DeviceOrdinal)                                       \
  X(device_attribute, cuDeviceGetAttribute, int*, int, DeviceOrdinal)                              \
  X(device_bus_id, cuDeviceGetPCIBusId, char*, int, DeviceOrdinal)                                 \
  X(device_by_bus_id, cuDeviceGetByPCIBusId, DeviceOrdinal*, const char*)                          \
  X(peer_attribute, cuDeviceGetP2PAttribute, int*, int, DeviceOrdinal, DeviceOrdinal)              \
  X(primary_context_retain, cuDevicePrimaryCtxRetain, Context*, DeviceOrdinal)                     \
  X(context_get_current, cuCtxGetCurrent, Context*)                                                \
  X(context_set_current, cuCtxSetCurrent, Context)                                                 \
  X(context_push, cuCtxPushCurrent_v2, Context)                                                    \
  X(context_pop, cuCtxPopCurrent_v2, Context*)                                                     \
  X(context_synchronize, cuCtxSynchronize)                                                         \
  X(context_device, cuCtxGetDevice, DeviceOrdinal*)                                                \
  X(module_load, cuModuleLoadData, Module*, const void*)                                           \
  X(module_unload, cuModuleUnload, Module)                                                         \
  X(module_function, cuModuleGetFunction, Function*, Module, const char*)                          \
  X(function_attribute, cuFuncGetAttribute, int*, int, Function)                                   \
  X(function_set_attribute, cuFuncSetAttribute, Function, int, int)                                \
  X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor, int*, Function, int, std::size_t)      \
  X(max_active_clusters, cuOccupancyMaxActiveClusters, int*, Function, const LaunchConfig*)        \
  X(launch, cuLaunchKernelEx, const LaunchConfig*, Function, void**, void**)                       \
  X(stream_create, cuStreamCreate, Stream*, unsigned)                                              \
  X(stream_destroy, cuStreamDestroy_v2, Stream)                                                    \
  X(stream_query, cuStreamQuery, Stream)                                                           \
  X(stream_synchronize, cuStreamSynchronize, Stream)                                               \
  X(stream_wait_event, cuStreamWaitEvent, Stream, Event, unsigned)                                 \
  X(stream_is_capturing, cuStreamIsCapturing, Stream, CaptureStatus*)                              \
  X(stream_capture_info, cuStreamGetCaptureInfo_v2, Stream, CaptureStatus*, std::uint64_t*,        \
    Graph*, const GraphNode**, std::size_t*)                                                       \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, int*)                                \
  X(stream_begin_capture, cuStreamBeginCapture_v2, Stream, int)                                    \
  X(stream_end_capture, cuStreamEndCapture, Stream, Graph*)                                        \
  X(graph_instantiate, cuGraphInstantiateWithFlags, GraphExec*, Graph, unsigned long long)         \
  X(graph_launch, cuGraphLaunch, GraphExec, Stream)                                                \
  X(graph_destroy, cuGraphDestroy, Graph)                                                          \
  X(graph_exec_destroy, cuGraphExecDestroy, GraphExec)                                             \
  X(event_create, cuEventCreate, Event*, unsigned)                                                 \
  X(event_destroy, cuEventDestroy_v2, Event)                                                       \
  X(event_record, cuEventRecord, Event, Stream)                                                    \
  X(event_synchronize, cuEventSynchronize, Event)                                                  \
  X(event_elapsed, cuEventElapsedTime, float*, Event, Event)                                       \
  X(memory_alloc, cuMemAlloc_v2, DevicePointer*, std::size_t)                                      \
  X(memory_free, cuMemFree_v2, DevicePointer)                                                      \
  X(host_alloc, cuMemHostAlloc, void**, std::size_t, unsigned)                                     \
  X(host_free, cuMemFreeHost, void*)                                                               \
  X(host_device_pointer, cuMemHostGetDevicePointer_v2, DevicePointer*, void*, unsigned)            \
  X(copy_to_device, cuMemcpyHtoDAsync_v2, DevicePointer, const void*, std::size_t, Stream)         \
  X(copy_to_host, cuMemcpyDtoHAsync_v2, void*, DevicePointer, std::size_t, Stream)                 \
  X(copy_bytes, cuMemcpyDtoDAsync_v2, DevicePointer, DevicePointer, std::size_t, Stream)           \
  X(copy_rows, cuMemcpy2DAsync_v2, const RowsCopy*, Stream)                                        \
  X(fill_bytes, cuMemsetD8Async, DevicePointer, unsigned char, std::size_t, Stream)                \
  X(address_reserve, cuMemAddressReserve, DevicePointer*, std::size_t, std::size_t, DevicePointer, \
    unsigned long long)                                                                            \
  X(address_free, cuMemAddressFree, DevicePointer, std::size_t)                                    \
  X(memory_create, cuMemCreate, MemoryHandle*, std::size_t, const AllocationProperties*,           \
    unsigned long long)                                                                            \
  X(memory_release, cuMemRelease, MemoryHandle)                                                    \
  X(memory_map, cuMemMap, DevicePointer, std::size_t, std::size_t, MemoryHandle,                   \
    unsigned long long)                                                                            \
  X(memory_unmap, cuMemUnmap, DevicePointer, std::size_t)                                          \
  X(memory_set_access, cuMemSetAccess, DevicePointer, std::size_t, const AccessDescription*,       \
    std::size_t)                                                                                   \
  X(memory_granularity, cuMemGetAllocationGranularity, std::size_t*, const AllocationProperties*,  \
    int)

/// Newer functions: null where the driver hasn't got them.
#define TILEWIRE_CUDA_OPTIONAL_FUNCTIONS(X)                                                    \
  X(function_parameter, cuFuncGetParamInfo, Function, std::size_t, std::size_t*, std::size_t*) \
  X(function_load, cuFuncLoad, Function)                                                       \
  X(stream_id, cuStreamGetId, Stream, unsigned long long*)                                     \
  X(encode_tiled, cuTensorMapEncodeTiled, void*, int, unsigned, void*, const std::uint64_t*,   \
    const std::uint64_t*, const unsigned*, const unsigned*, int, int, int, int)

/// Entry points of the driver in this process.
struct Api {
#define TILEWIRE_DECLARE(member, symbol, ...) Result (*member)(__VA_ARGS__) = nullptr;
  TILEWIRE_CUDA_FUNCTIONS(TILEWIRE_DECLARE)
  TILEWIRE_CUDA_OPTIONAL_FUNCTIONS(TILEWIRE_DECLARE)
#undef TILEWIRE_DECLARE
};

/// The driver, loaded and initialised once. BackendError where there is no driver or no GPU: says
/// what is missing and that the CPU target needs neither.
const Api& api();

}  // namespace tilewire::cuda

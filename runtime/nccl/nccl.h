#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "compiler/jit/nccl_headers.h"

/// The part of NCCL's host API that tilewire calls, declared here so that building needs no NCCL.
namespace tilewire::nccl {

using Result = int;
using Comm = struct OpaqueComm*;
using WindowHandle = void*;  ///< `ncclWindow_t`: on the device, `ncclWindow_vidmem*`

inline constexpr Result kSuccess = 0;
inline constexpr Result kInProgress = 7;
inline constexpr int kUint8 = 1;
inline constexpr int kWindowCollectiveSymmetric = 1;
inline constexpr std::size_t kUniqueIdBytes = 128;

struct UniqueId {
  char internal[kUniqueIdBytes];
};

struct Team {
  int num_ranks;
  int rank;
  int stride;
};

/// X(member, exported symbol, result, parameters…)
#define TILEWIRE_NCCL_FUNCTIONS(X)                                                                 \
  X(get_version, ncclGetVersion, Result, int*)                                                     \
  X(error_string, ncclGetErrorString, const char*, Result)                                         \
  X(last_error, ncclGetLastError, const char*, Comm)                                               \
  X(get_unique_id, ncclGetUniqueId, Result, UniqueId*)                                             \
  X(comm_init_rank, ncclCommInitRank, Result, Comm*, int, UniqueId, int)                           \
  X(comm_destroy, ncclCommDestroy, Result, Comm)                                                   \
  X(comm_abort, ncclCommAbort, Result, Comm)                                                       \
  X(comm_async_error, ncclCommGetAsyncError, Result, Comm, Result*)                                \
  X(comm_count, ncclCommCount, Result, Comm, int*)                                                 \
  X(comm_rank, ncclCommUserRank, Result, Comm, int*)                                               \
  X(comm_device, ncclCommCuDevice, Result, Comm, int*)                                             \
  X(mem_alloc, ncclMemAlloc, Result, void**, std::size_t)                                          \
  X(mem_free, ncclMemFree, Result, void*)                                                          \
  X(window_register, ncclCommWindowRegister, Result, Comm, void*, std::size_t, WindowHandle*, int) \
  X(window_deregister, ncclCommWindowDeregister, Result, Comm, WindowHandle)                       \
  X(dev_comm_create, ncclDevCommCreate, Result, Comm, const void*, void*)                          \
  X(dev_comm_destroy, ncclDevCommDestroy, Result, Comm, const void*)                               \
  X(team_lsa, ncclTeamLsa, Team, Comm)                                                             \
  X(all_gather, ncclAllGather, Result, const void*, void*, std::size_t, int, Comm, void*)

/// Newer functions: null where this version hasn't got them.
#define TILEWIRE_NCCL_OPTIONAL_FUNCTIONS(X) \
  X(comm_query_properties, ncclCommQueryProperties, Result, Comm, void*)

/// NCCL's entry points.
struct Api {
#define TILEWIRE_DECLARE(member, symbol, result, ...) result (*member)(__VA_ARGS__) = nullptr;
  TILEWIRE_NCCL_FUNCTIONS(TILEWIRE_DECLARE)
  TILEWIRE_NCCL_OPTIONAL_FUNCTIONS(TILEWIRE_DECLARE)
#undef TILEWIRE_DECLARE
  NcclVersion version;
  std::string path;  ///< the file it was loaded from
};

/// NCCL, loaded once. BackendError where it isn't found (lists where it was looked for), or where
/// its version isn't one that the runtime knows.
const Api& api();

/// What a call that NCCL may do later comes to: waits where it returned `kInProgress`.
Result settled(Result result, Comm comm);

/// Throws BackendError with call, code and NCCL's own texts; HangError as `check_cuda` does.
void check(Result result, std::string_view call, Comm comm = nullptr);

/// Throws BackendError where the runtime doesn't know this version of NCCL.
void require_known_version(const NcclVersion& version, const std::string& path);

}  // namespace tilewire::nccl

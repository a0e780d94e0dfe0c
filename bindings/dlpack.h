#pragma once

#include <cstdint>

/// DLPack's C structures, as its specification fixes them (major version 1; the exchange API is of
/// 1.3). Written down here because the ABI is stable and needs no library. Other minor versions
/// add codes only; of another major version only the fields up to `deleter` may be touched.
namespace tilewire::dlpack {

inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr std::uint32_t kMinorVersion = 3;

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

enum DeviceType : std::int32_t {
  kCpu = 1,
  kCuda = 2,
  kCudaHost = 3,  ///< pinned host memory
  kCudaManaged = 13,
};

struct Device {
  std::int32_t type;  ///< DeviceType; others exist
  std::int32_t id;
};

enum TypeCode : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kBool = 6,
  kFloat8E4M3FN = 10,
  kFloat8E5M2 = 12,
};

struct DataType {
  std::uint8_t code;  ///< TypeCode; others exist
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null, in old versions: contiguous and row-major
  std::uint64_t byte_offset;
};

/// In a capsule named "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};

inline constexpr std::uint64_t kFlagReadOnly = 1;
inline constexpr std::uint64_t kFlagIsCopied = 2;

/// In a capsule named "dltensor_versioned".
struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned* self);
  std::uint64_t flags;
  Tensor tensor;
};

struct ExchangeApiHeader {
  Version version;
  ExchangeApiHeader* previous;  ///< an older table, or null
};

/// What `type(object).__dlpack_c_exchange_api__` holds, in a capsule named "dlpack_exchange_api".
/// Lives as long as the process. All functions return 0, or -1 with a Python exception set. They
/// need the GIL and synchronise no stream.
struct ExchangeApi {
  ExchangeApiHeader header;
  int (*allocate)(Tensor* prototype, ManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, ManagedTensorVersioned** out);
  int (*managed_to_object)(ManagedTensorVersioned* tensor, void** out_object);
  /// May be null. Shape and strides belong to the object.
  int (*tensor_from_object)(void* object, Tensor* out);
  int (*current_work_stream)(std::int32_t device_type, std::int32_t device_id, void** out_stream);
};

static_assert(sizeof(Tensor) == 48 && sizeof(ManagedTensor) == 64);
static_assert(sizeof(ManagedTensorVersioned) == 80 && sizeof(ExchangeApi) == 56);

inline constexpr char kCapsule[] = "dltensor";
inline constexpr char kUsedCapsule[] = "used_dltensor";
inline constexpr char kVersionedCapsule[] = "dltensor_versioned";
inline constexpr char kUsedVersionedCapsule[] = "used_dltensor_versioned";
inline constexpr char kExchangeApiCapsule[] = "dlpack_exchange_api";
inline constexpr char kExchangeApiAttribute[] = "__dlpack_c_exchange_api__";

}  // namespace tilewire::dlpack

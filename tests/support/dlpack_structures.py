"""DLPack's C structures for ctypes, capsules taken apart, and objects that speak its protocols."""

import ctypes

CPU, CUDA, ROCM = 1, 2, 10
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL, E4M3, E5M2 = 0, 1, 2, 4, 5, 6, 10, 12
READ_ONLY = 1


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("rank", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [
        ("tensor", Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


# Callbacks get the GIL, which C code that calls them holds.
TensorFromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
CurrentStream = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
)


class ExchangeApi(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", ctypes.c_void_p),
        ("managed_to_object", ctypes.c_void_p),
        ("tensor_from_object", TensorFromObject),
        ("current_work_stream", CurrentStream),
    ]


_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype = ctypes.c_char_p
_name.argtypes = [ctypes.py_object]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]

# A capsule keeps the address of its name only.
_USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}
_NAMES = {name: name for name in (*_USED, b"dlpack_exchange_api")}


def new_capsule(structure, name):
    """A capsule without destructor; the structure must be kept by the caller."""
    return _new(ctypes.addressof(structure), _NAMES[name], None)


def open_capsule(capsule):
    """The structure in a capsule that a window gave, with the capsule's name."""
    name = _name(capsule)
    kind = ManagedVersioned if name == b"dltensor_versioned" else Managed
    return ctypes.cast(_pointer(capsule, name), ctypes.POINTER(kind)).contents, name


def consume_capsule(capsule):
    """Takes the structure as a consumer does: the capsule no longer owns it."""
    structure, name = open_capsule(capsule)
    _rename(capsule, _USED[name])
    return structure


def describe(tensor, address, dtype, shape, strides=None, device=(CUDA, 0), offset=0):
    """Fills a Tensor; returns the arrays that it points to."""
    shapes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    tensor.data = address
    tensor.device = Device(*device)
    tensor.rank = len(shape)
    tensor.dtype = DataType(*dtype, 1)
    tensor.shape = shapes
    tensor.byte_offset = offset
    if strides is None:
        tensor.strides = None
        return shapes, None
    stride_array = (ctypes.c_int64 * max(len(shape), 1))(*strides)
    tensor.strides = stride_array
    return shapes, stride_array


def contiguous_strides(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


class ExchangeTensor:
    """An object with DLPack's C exchange API, as PyTorch's tensors have it."""

    stream = 0x5000  # what its framework calls the current stream
    fails = False

    def __init__(
        self, address=0x10000, dtype=(FLOAT, 32), shape=(4, 8), strides=None, device=(CUDA, 0)
    ):
        self.address, self.dtype, self.shape, self.device = address, dtype, shape, device
        self.strides = contiguous_strides(shape) if strides is None else strides


@TensorFromObject
def _tensor_from_object(self, out):
    if self.fails:
        return -1  # ctypes lets no callback set an exception
    self.kept = describe(
        out.contents, self.address, self.dtype, self.shape, self.strides, self.device
    )
    return 0


@CurrentStream
def _current_stream(device_type, device_id, out):
    assert device_type == CUDA
    out[0] = ExchangeTensor.stream + device_id
    return 0


API = ExchangeApi(1, 3, None, None, None, None, _tensor_from_object, _current_stream)
ExchangeTensor.__dlpack_c_exchange_api__ = new_capsule(API, b"dlpack_exchange_api")


class CapsuleTensor:
    """An object with `__dlpack__`; remembers what it was asked."""

    def __init__(self, address, dtype, shape, device=(CUDA, 0), *, flags=0, versioned=True):
        self.structure = ManagedVersioned(1, 0) if versioned else Managed()
        self.structure.flags = flags
        self.kept = describe(self.structure.tensor, address, dtype, shape, None, device, 16)
        self.device, self.versioned, self.asked = device, versioned, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        if not self.versioned and "max_version" in keywords:
            raise TypeError("unexpected keyword argument 'max_version'")
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        return new_capsule(self.structure, name)

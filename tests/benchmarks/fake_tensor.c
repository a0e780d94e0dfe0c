// A tensor that speaks DLPack's C exchange API as fast as a framework can: for measuring the launch
// path without one. `FakeTensor(address, dtype_code, bits, shape)`, contiguous, on CUDA device 0.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

typedef struct {
  void* data;
  int32_t device_type, device_id, rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Tensor;

typedef struct {
  uint32_t major, minor;
  void *previous, *allocate, *managed_from_object, *managed_to_object;
  int (*tensor_from_object)(void*, Tensor*);
  int (*current_work_stream)(int32_t, int32_t, void**);
} ExchangeApi;

typedef struct {
  PyObject_HEAD Tensor tensor;
  int64_t shape[8], strides[8];
} FakeTensor;

static int tensor_from_object(void* object, Tensor* out) {
  *out = ((FakeTensor*)object)->tensor;
  return 0;
}

static int current_work_stream(int32_t type, int32_t id, void** out) {
  (void)type;
  *out = (void*)(intptr_t)(0x5000 + id);
  return 0;
}

static ExchangeApi api = {.major = 1,
                          .minor = 3,
                          .tensor_from_object = tensor_from_object,
                          .current_work_stream = current_work_stream};

static PyObject* create(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  (void)keywords;
  unsigned long long address;
  int code, bits;
  PyObject* shape;
  if (!PyArg_ParseTuple(args, "KiiO!", &address, &code, &bits, &PyTuple_Type, &shape)) return NULL;
  FakeTensor* self = (FakeTensor*)type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  int64_t stride = 1;
  int rank = (int)PyTuple_GET_SIZE(shape);
  for (int i = rank - 1; i >= 0; --i) {
    self->shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    self->strides[i] = stride;
    stride *= self->shape[i];
  }
  self->tensor = (Tensor){.data = (void*)(uintptr_t)address,
                          .device_type = 2,
                          .rank = rank,
                          .code = (uint8_t)code,
                          .bits = (uint8_t)bits,
                          .lanes = 1,
                          .shape = self->shape,
                          .strides = self->strides};
  return (PyObject*)self;
}

static PyTypeObject type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "fake_tensor.FakeTensor",
                            .tp_basicsize = sizeof(FakeTensor), .tp_flags = Py_TPFLAGS_DEFAULT,
                            .tp_new = create};

static PyObject* nothing(PyObject* self, PyObject* const* args, Py_ssize_t num_args) {
  (void)self, (void)args, (void)num_args;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"nothing", (PyCFunction)(void (*)(void))nothing, METH_FASTCALL, "Takes anything."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "fake_tensor", .m_size = -1,
                                    .m_methods = functions};

PyMODINIT_FUNC PyInit_fake_tensor(void) {
  PyObject* capsule = PyCapsule_New(&api, "dlpack_exchange_api", NULL);
  type.tp_dict = PyDict_New();
  PyDict_SetItemString(type.tp_dict, "__dlpack_c_exchange_api__", capsule);
  Py_DECREF(capsule);
  if (PyType_Ready(&type) < 0) return NULL;
  PyObject* self = PyModule_Create(&module);
  if (self == NULL) return NULL;
  Py_INCREF(&type);
  PyModule_AddObject(self, "FakeTensor", (PyObject*)&type);
  return self;
}

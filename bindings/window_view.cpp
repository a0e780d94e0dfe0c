#include "bindings/window_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

py::tuple as_tuple(const py::object& key) {
  return py::isinstance<py::tuple>(key) ? key.cast<py::tuple>() : py::make_tuple(key);
}

/// The keys with `...` written out, and `:` for the dimensions that no key names.
std::vector<py::object> spread(const py::tuple& keys, std::size_t rank) {
  const auto is_ellipsis = [](py::handle key) { return key.ptr() == Py_Ellipsis; };
  const std::size_t num_ellipses = std::count_if(keys.begin(), keys.end(), is_ellipsis);
  const std::size_t num_named = keys.size() - num_ellipses;
  if (num_ellipses > 1 || num_named > rank) {
    throw py::index_error(
        fmt::format("{} indices into a window of {} dimensions", keys.size(), rank));
  }
  std::vector<py::object> all;
  const py::slice everything{py::none(), py::none(), py::none()};
  for (const py::handle key : keys) {
    if (is_ellipsis(key)) {
      all.insert(all.end(), rank - num_named, py::object(everything));
    } else {
      all.push_back(py::reinterpret_borrow<py::object>(key));
    }
  }
  all.resize(rank, py::object(everything));
  return all;
}

}  // namespace

WindowView WindowView::whole(std::shared_ptr<WindowObject> window, int rank) {
  const ArrayArgument array = window->copy_of(rank);
  return {.window = std::move(window),
          .rank = rank,
          .offset = 0,
          .shape = {array.shape, array.shape + array.rank},
          .strides = {array.strides, array.strides + array.rank},
          .is_own = false};
}

WindowView WindowView::at(int other) const {
  window->copy_of(other);  // throws where it can't be reached
  WindowView view = *this;
  view.rank = other;
  view.is_own = false;
  return view;
}

WindowView WindowView::sliced(const py::object& key) const {
  const std::vector<py::object> keys = spread(as_tuple(key), shape.size());
  WindowView view{.window = window,
                  .rank = rank,
                  .offset = offset,
                  .shape = {},
                  .strides = {},
                  .is_own = is_own};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (py::isinstance<py::slice>(keys[i])) {
      py::ssize_t begin = 0;
      py::ssize_t end = 0;
      py::ssize_t step = 0;
      py::ssize_t length = 0;
      if (!keys[i].cast<py::slice>().compute(shape[i], &begin, &end, &step, &length)) {
        throw py::error_already_set();
      }
      if (step < 0) throw UserError("a window is sliced with positive steps");
      view.offset += length > 0 ? begin * strides[i] : 0;
      view.shape.push_back(length);
      view.strides.push_back(step * strides[i]);
      continue;
    }
    if (PyIndex_Check(keys[i].ptr()) == 0 || PyBool_Check(keys[i].ptr())) {
      throw UserError(
          fmt::format("a window is indexed by integers, slices and `...` on the host, found {}",
                      py::repr(keys[i]).cast<std::string>()));
    }
    const py::ssize_t index = PyNumber_AsSsize_t(keys[i].ptr(), PyExc_IndexError);
    if (index == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    if (index < -shape[i] || index >= shape[i]) {
      throw py::index_error(
          fmt::format("index {} is outside of dimension {}, which has {}", index, i, shape[i]));
    }
    view.offset += (index < 0 ? index + shape[i] : index) * strides[i];
  }
  return view;
}

ArrayArgument WindowView::array() const {
  ArrayArgument array = window->copy_of(rank);
  array.data = static_cast<char*>(array.data) + offset * num_bytes(array.dtype);
  array.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), array.shape);
  std::copy(strides.begin(), strides.end(), array.strides);
  return array;
}

}  // namespace tilewire::bindings

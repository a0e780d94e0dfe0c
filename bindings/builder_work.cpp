#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/casters.h"
#include "bindings/python_builder.h"
#include "compiler/frontend/record.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

constexpr auto kReference = py::return_value_policy::reference_internal;

/// (start, size, end) of a `ds`; end None: the view's own.
py::tuple index_tuple(const Index& index, const py::object& owner) {
  const auto operand = [&owner](const Operand& value) {
    return py::cast(value, kReference, owner);
  };
  return py::make_tuple(operand(index.first), index.size,
                        index.end ? operand(*index.end) : py::none());
}

/// What Python makes an object of: m, n, local_m as `ds`, part, local_index; k as a pair of bounds.
py::dict work_dict(const Work& work, const py::object& owner) {
  py::dict result;
  result["m"] = index_tuple(work.m, owner);
  result["n"] = index_tuple(work.n, owner);
  result["local_m"] = index_tuple(work.local_m, owner);
  result["part"] = py::cast(work.part, kReference, owner);
  result["local_index"] = py::cast(work.local_index, kReference, owner);
  result["exists"] =
      work.exists == nullptr ? py::object(py::none()) : py::cast(work.exists, kReference, owner);
  if (work.k) {
    result["k"] = py::make_tuple(py::cast(work.k->first, kReference, owner),
                                 py::cast(work.k->second, kReference, owner));
    result["k_part"] = py::cast(work.k_part, kReference, owner);
    result["place"] = py::cast(work.place, kReference, owner);
  }
  return result;
}

TileGrid make_tiles(PythonBuilder& self, const Operand& m, const Operand& n, std::int64_t block_m,
                    std::int64_t block_n, std::optional<Operand> split,
                    std::optional<Operand> start, const std::string& order, std::int64_t group,
                    std::int64_t cluster, std::optional<Operand> k, std::int64_t block_k,
                    std::optional<Operand> split_k) {
  return self.tiles(m, n, block_m, block_n,
                    {.split = std::move(split),
                     .start = std::move(start),
                     .order = order,
                     .group = group,
                     .cluster = cluster,
                     .k = std::move(k),
                     .block_k = block_k,
                     .split_k = std::move(split_k)});
}

void bind_record(py::module_& module) {
  py::class_<RecordType>(module, "RecordType", "Where the fields of a record lie.")
      .def(py::init([](const std::vector<std::tuple<std::string, DType, std::vector<std::int64_t>>>&
                           fields) {
             std::vector<RecordField> made;
             for (const auto& [name, dtype, shape] : fields) made.push_back({name, dtype, shape});
             return RecordType(std::move(made));
           }),
           py::arg("fields"))
      .def("offset", &RecordType::offset, py::arg("field"))
      .def_property_readonly("alignment", &RecordType::alignment)
      .def_property_readonly("num_bytes", &RecordType::num_bytes);
}

}  // namespace

void bind_builder_work(py::module_& module, BuilderClass& builder) {
  bind_record(module);
  py::class_<TileGrid>(module, "TileGrid", "Tiles of a matrix, as `tw.tiles` divides it.")
      .def_property_readonly("count", [](const TileGrid& self) { return self.count; }, kReference);
  py::class_<RaggedGrid>(module, "RaggedGrid", "Tiles over groups of rows.")
      .def_property_readonly(
          "count", [](const RaggedGrid& self) { return self.count; }, kReference);
  builder
      .def("tiles", &make_tiles, py::keep_alive<0, 1>(), py::arg("m"), py::arg("n"),
           py::arg("block_m"), py::arg("block_n"), py::arg("split") = std::nullopt,
           py::arg("start") = std::nullopt, py::arg("order") = "row", py::arg("group") = 8,
           py::arg("cluster") = 1, py::arg("k") = std::nullopt, py::arg("block_k") = 0,
           py::arg("split_k") = std::nullopt)
      .def("arrive", py::overload_cast<Operand, Operand, Operand>(&Builder::arrive), kReference,
           py::arg("place"), py::arg("count"), py::arg("places"))
      .def(
          "arrive_at_tile",
          [](PythonBuilder& self, const TileGrid& grid, Value* place) {
            return self.arrive(grid, place);
          },
          kReference, py::arg("grid"), py::arg("place").none(false))
      .def("ragged", &Builder::ragged, py::keep_alive<0, 1>(), py::arg("sizes").none(false),
           py::arg("block"))
      .def(
          "tile",
          [](PythonBuilder& self, const TileGrid& grid, Value* index) {
            return work_dict(self.tile(grid, index), py::cast(&self));
          },
          py::arg("grid"), py::arg("index").none(false))
      .def(
          "tile",
          [](PythonBuilder& self, const RaggedGrid& grid, Value* index) {
            return work_dict(self.tile(grid, index), py::cast(&self));
          },
          py::arg("grid"), py::arg("index").none(false))
      .def(
          "begin_dynamic",
          [](PythonBuilder& self, const Operand& count, const std::vector<Operand>& initial) {
            const Builder::Loop loop = self.begin_dynamic(count, initial);
            py::object owner = py::cast(&self);
            return py::make_tuple(py::cast(loop.index, kReference, owner),
                                  py::cast(loop.carried, kReference, owner));
          },
          py::arg("count"), py::arg("initial"),
          "Opens a loop over indices that are handed out; `end_for` ends it.")
      .def("enter_instances", &Builder::enter_instances, kReference, py::arg("first"),
           py::arg("count"))
      .def("leave_instances", &Builder::leave_instances)
      .def("begin_task", &Builder::begin_task)
      .def("end_task", &Builder::end_task);
}

}  // namespace tilewire::bindings

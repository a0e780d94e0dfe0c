#include "compiler/frontend/builder.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/casters.h"
#include "bindings/python_builder.h"
#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

using Class = BuilderClass;
constexpr auto kReference = py::return_value_policy::reference_internal;

Iterate iterate_from_name(const std::string& name) {
  for (Iterate each : {Iterate::kRange, Iterate::kPersistent, Iterate::kRanks, Iterate::kPeers}) {
    if (name == name_of(each)) return each;
  }
  throw UserError("there is no loop of the kind '" + name + "'");
}

void bind_signature(Class& builder) {
  builder
      .def(py::init<std::string, std::string, const Target&>(), py::arg("name"),
           py::arg("source_file"), py::arg("target"))
      .def("set_location", py::overload_cast<int, int>(&Builder::set_location), py::arg("line"),
           py::arg("column"))
      .def(
          "set_location",
          [](PythonBuilder& self, std::string file, int line, int column) {
            self.set_location(SourceLocation{std::move(file), line, column});
          },
          py::arg("file"), py::arg("line"), py::arg("column"))
      .def("name", &Builder::name, kReference, py::arg("value").none(false), py::arg("user_name"))
      .def("tensor", &Builder::tensor, kReference, py::arg("name"), py::arg("dtype"),
           py::arg("shape"), py::arg("is_constant") = false)
      .def("window", &Builder::window, kReference, py::arg("name"), py::arg("dtype"),
           py::arg("shape"), py::arg("rotate") = 0)
      .def("semaphore", &Builder::semaphore, kReference, py::arg("name"), py::arg("shape"))
      .def("flag", &Builder::flag, kReference, py::arg("name"), py::arg("shape"))
      .def("channel", &Builder::channel, kReference, py::arg("name"), py::arg("shape"),
           py::arg("type"))
      .def("scalar", &Builder::scalar, kReference, py::arg("name"), py::arg("dtype"))
      .def("dimension", &Builder::dimension, kReference, py::arg("name"))
      .def("constant_parameter", &Builder::constant_parameter, py::arg("name"), py::arg("value"))
      .def("world_size", &Builder::world_size)
      .def("lsa_size", &Builder::lsa_size)
      .def("finish", &PythonBuilder::finish_shared);
}

void bind_scalars_and_memory(Class& builder) {
  builder.def("constant", &Builder::constant, kReference, py::arg("literal"), py::arg("dtype"))
      .def("program_id", &Builder::program_id, kReference, py::arg("axis") = 0)
      .def("num_programs", &Builder::num_programs, kReference, py::arg("axis") = 0)
      .def("rank", &Builder::rank, kReference, py::arg("team") = "world")
      .def("cdiv", &Builder::cdiv, kReference, py::arg("a"), py::arg("b"))
      .def("at", &Builder::at, kReference, py::arg("window").none(false), py::arg("rank"),
           py::arg("team") = "")
      .def("slice", &Builder::slice, kReference, py::arg("view").none(false), py::arg("indices"))
      .def("extent", &Builder::extent, kReference, py::arg("view").none(false),
           py::arg("dimension"))
      .def("load", &Builder::load, kReference, py::arg("view").none(false),
           py::arg("other") = std::nullopt, py::arg("where") = nullptr, py::arg("cache") = "")
      .def("store", &Builder::store, py::arg("view").none(false), py::arg("value"),
           py::arg("where") = nullptr, py::arg("cache") = "")
      .def("view", &Builder::view, kReference, py::arg("base").none(false), py::arg("offset"),
           py::arg("shape"), py::arg("strides") = std::vector<Operand>{})
      .def("permute", &Builder::permute, kReference, py::arg("view").none(false),
           py::arg("order") = std::vector<std::int64_t>{})
      .def("field", &Builder::field, kReference, py::arg("bytes").none(false), py::arg("offset"),
           py::arg("dtype"), py::arg("shape"))
      .def("inside", &Builder::inside, kReference, py::arg("view").none(false))
      .def("prefetch", &Builder::prefetch, py::arg("view").none(false))
      .def("is_lsa", &Builder::is_lsa, kReference, py::arg("rank"))
      .def("team_size", &Builder::team_size, py::arg("team"))
      .def("barrier", &Builder::barrier, py::arg("team") = "world", py::arg("scope") = "instance",
           py::arg("order") = "acq_rel");
}

void bind_semaphores(Class& builder) {
  builder
      .def("signal", &Builder::signal, py::arg("semaphore").none(false),
           py::arg("n") = std::int64_t{1})
      .def("wait", &Builder::wait, py::arg("view").none(false), py::arg("n") = std::int64_t{1},
           py::arg("deadline") = true)
      .def("set", &Builder::set, py::arg("flag").none(false));
}

void bind_tiles(Class& builder) {
  builder
      .def("full", &Builder::full, kReference, py::arg("shape"), py::arg("value"), py::arg("dtype"))
      .def("zeros", &Builder::zeros, kReference, py::arg("shape"), py::arg("dtype"))
      .def("broadcast", &Builder::broadcast, kReference, py::arg("value"), py::arg("shape"))
      .def("reshape", &Builder::reshape, kReference, py::arg("tile").none(false), py::arg("shape"))
      .def("extract", &Builder::extract, kReference, py::arg("tile").none(false),
           py::arg("indices"))
      .def("reduce", &Builder::reduce, kReference, py::arg("op"), py::arg("tile").none(false),
           py::arg("axis") = std::nullopt)
      .def("unary", &Builder::unary, kReference, py::arg("op"), py::arg("value"))
      .def("binary", &Builder::binary, kReference, py::arg("op"), py::arg("a"), py::arg("b"))
      .def("where", &Builder::where, kReference, py::arg("condition"), py::arg("a"), py::arg("b"));
}

void bind_moves(Class& builder) {
  const auto tile = py::arg("tile").none(false);
  builder
      .def("arg_reduce", &Builder::arg_reduce, kReference, py::arg("op"), tile,
           py::arg("axis") = std::nullopt)
      .def("scan", &Builder::scan, kReference, py::arg("op"), tile, py::arg("axis"),
           py::arg("reverse") = false)
      .def("transpose", &Builder::transpose, kReference, tile, py::arg("axes") = std::vector<int>())
      .def("part", &Builder::part, kReference, tile, py::arg("start"), py::arg("shape"))
      .def("flip", &Builder::flip, kReference, tile, py::arg("axis"))
      .def("cat", &Builder::cat, kReference, py::arg("a").none(false), py::arg("b").none(false),
           py::arg("axis") = 0)
      .def("split", &Builder::split, kReference, tile, py::arg("axis") = 0)
      .def("stack", &Builder::stack, kReference, py::arg("parts"))
      .def("sort", &Builder::sort, kReference, tile, py::arg("axis") = -1,
           py::arg("descending") = false)
      .def("argsort", &Builder::argsort, kReference, tile, py::arg("axis") = -1,
           py::arg("descending") = false)
      .def("gather", &Builder::gather, kReference, tile, py::arg("index").none(false),
           py::arg("axis"))
      .def("histogram", &Builder::histogram, kReference, tile, py::arg("num_bins"));
}

void bind_reports(Class& builder) {
  builder.def("print", &Builder::print, py::arg("text"), py::arg("values"), py::arg("all") = false)
      .def("assert_", &Builder::assert_, py::arg("condition").none(false), py::arg("message"),
           py::arg("values") = std::vector<Operand>{});
}

void bind_channels(Class& builder) {
  builder.def("send", &Builder::send, py::arg("slot").none(false), py::arg("values"))
      .def("recv", &Builder::recv, kReference, py::arg("slot").none(false))
      .def("exchange", &Builder::exchange, kReference, py::arg("slot").none(false),
           py::arg("values"))
      .def("channel_name", &Builder::channel_name, py::arg("slot").none(false),
           "The parameter that a slot is of.");
}

void bind_inline_cuda(Class& builder) {
  builder.def(
      "inline_cuda",
      [](PythonBuilder& self, const std::string& code, const std::vector<Operand>& inputs,
         std::optional<DType> dtype, const std::vector<std::int64_t>& shape, Value* reference,
         int line) { return self.inline_cuda(code, inputs, {dtype, shape, reference, line}); },
      kReference, py::arg("code"), py::arg("inputs"), py::arg("dtype") = std::nullopt,
      py::arg("shape") = std::vector<std::int64_t>{}, py::arg("reference") = nullptr,
      py::arg("line") = 0);
}

void bind_atomics(Class& builder) {
  builder.def(
      "atomic",
      [](PythonBuilder& self, const std::string& kind, Value* view, const Operand& value,
         Value* where, const std::string& order, const std::string& scope) {
        return self.atomic(kind, view, value, {where, order, scope});
      },
      kReference, py::arg("kind"), py::arg("view").none(false), py::arg("value"),
      py::arg("where") = nullptr, py::arg("order") = "acq_rel", py::arg("scope") = "");
  builder.def(
      "atomic_cas",
      [](PythonBuilder& self, Value* view, const Operand& compare, const Operand& value,
         Value* where, const std::string& order, const std::string& scope) {
        return self.atomic_cas(view, compare, value, {where, order, scope});
      },
      kReference, py::arg("view").none(false), py::arg("compare"), py::arg("value"),
      py::arg("where") = nullptr, py::arg("order") = "acq_rel", py::arg("scope") = "");
}

void bind_matmul(Class& builder) {
  builder.def(
      "matmul",
      [](PythonBuilder& self, Value* a, Value* b, Value* acc, const std::string& precision,
         std::int64_t block_k, int stages, const std::optional<Operand>& other, bool transpose_a,
         bool transpose_b) {
        return self.matmul(a, b,
                           {acc, precision, block_k, stages, other, transpose_a, transpose_b});
      },
      kReference, py::arg("a").none(false), py::arg("b").none(false), py::arg("acc") = nullptr,
      py::arg("precision") = "tf32", py::arg("block_k") = 0, py::arg("stages") = 0,
      py::arg("other") = std::nullopt, py::arg("transpose_a") = false,
      py::arg("transpose_b") = false);
}

void bind_numbers(Class& builder) {
  using Cast = Value* (Builder::*)(Operand, DType);
  using RoundedCast = Value* (Builder::*)(Operand, DType, std::string_view, std::optional<bool>);
  builder
      .def("arange", &Builder::arange, kReference, py::arg("start"), py::arg("stop"),
           py::arg("step") = 1, py::arg("dtype") = DType::kI32)
      .def("cast", static_cast<Cast>(&Builder::cast), kReference, py::arg("value"),
           py::arg("dtype"))
      .def("cast", static_cast<RoundedCast>(&Builder::cast), kReference, py::arg("value"),
           py::arg("dtype"), py::arg("rounding"), py::arg("saturate") = std::nullopt)
      .def("bitcast", &Builder::bitcast, kReference, py::arg("value"), py::arg("dtype"))
      .def("fma", &Builder::fma, kReference, py::arg("a"), py::arg("b"), py::arg("c"))
      .def("clamp", &Builder::clamp, kReference, py::arg("x"), py::arg("low"), py::arg("high"))
      .def("isnan", &Builder::isnan, kReference, py::arg("x"))
      .def("isinf", &Builder::isinf, kReference, py::arg("x"))
      .def("philox", &Builder::philox, kReference, py::arg("seed"), py::arg("counter"),
           py::arg("stream") = std::int64_t{0})
      .def("uniform", &Builder::uniform, kReference, py::arg("seed"), py::arg("counter"),
           py::arg("stream") = std::int64_t{0});
}

void bind_control_flow(Class& builder) {
  builder
      .def(
          "begin_for",
          [](PythonBuilder& self, const std::string& iterate, const Operand& lower,
             const Operand& upper, const Operand& step, const std::vector<Operand>& initial) {
            const Builder::Loop loop =
                self.begin_for(iterate_from_name(iterate), lower, upper, step, initial);
            py::object owner = py::cast(&self);
            return py::make_tuple(py::cast(loop.index, kReference, owner),
                                  py::cast(loop.carried, kReference, owner));
          },
          py::arg("iterate"), py::arg("lower"), py::arg("upper"), py::arg("step"),
          py::arg("initial"), "Opens a loop; returns its index and the carried values.")
      .def(
          "begin_for_team",
          [](PythonBuilder& self, const std::string& iterate, const std::string& team,
             const Operand& start, const std::vector<Operand>& initial) {
            const Builder::Loop loop =
                self.begin_for_team(iterate_from_name(iterate), team, start, initial);
            py::object owner = py::cast(&self);
            return py::make_tuple(py::cast(loop.index, kReference, owner),
                                  py::cast(loop.carried, kReference, owner));
          },
          py::arg("iterate"), py::arg("team"), py::arg("start"), py::arg("initial"),
          "Opens a loop over the ranks of a team; returns its index and the carried values.")
      .def("end_for", &Builder::end_for, kReference, py::arg("yielded"))
      .def("begin_while", &Builder::begin_while, kReference, py::arg("initial"),
           "Opens a loop's condition; returns the carried values as it sees them.")
      .def("begin_do", &Builder::begin_do, kReference, py::arg("condition").none(false))
      .def("end_while", &Builder::end_while, kReference, py::arg("yielded"))
      .def("begin_if", &Builder::begin_if, py::arg("condition").none(false))
      .def(
          "begin_else", [](PythonBuilder& self) { self.begin_else({}); },
          "What both branches hand out is said at the end.")
      .def("end_if",
           py::overload_cast<const std::vector<Operand>&, const std::vector<Operand>&>(
               &Builder::end_if),
           kReference, py::arg("then_values"), py::arg("else_values"))
      .def("return_", &Builder::return_)
      .def(
          "emit",
          [](PythonBuilder& self, const std::string& op, const Values& operands,
             const Attributes& attributes) {
            for (const Value* operand : operands) {
              if (operand == nullptr) throw UserError(op + ": None is no value");
            }
            const Statement* statement = self.emit(op, operands, attributes);
            return py::cast(statement->results, kReference, py::cast(&self));
          },
          py::arg("op"), py::arg("operands"), py::arg("attributes") = Attributes{},
          "Any op of the table, exactly as given; returns its results.");
}

}  // namespace

void bind_builder(py::module_& module) {
  py::class_<Value, std::unique_ptr<Value, py::nodelete>>(module, "Value",
                                                          "An SSA value under construction.")
      .def_readonly("type", &Value::type)
      .def_readonly("name", &Value::name)
      .def("__repr__", [](const Value& self) {
        return "<" + (self.name.empty() ? std::string("value") : self.name) + ": " +
               self.type.to_string() + ">";
      });
  py::class_<Index>(module, "Index", "One index inside `view[…]`.")
      .def_static("at", &Index::at, py::arg("index"))
      .def_static("all", &Index::all)
      .def_static("ds", &Index::ds, py::arg("start"), py::arg("size"),
                  py::arg("end") = std::nullopt)
      .def_static("tile", &Index::tile, py::arg("indices").none(false))
      .def_static("range", &Index::range, py::arg("lower"), py::arg("upper"));
  Class builder(module, "Builder",
                "Makes IR by the rules of the language; the C++ class of the same name.");
  bind_signature(builder);
  bind_scalars_and_memory(builder);
  bind_semaphores(builder);
  bind_tiles(builder);
  bind_moves(builder);
  bind_inline_cuda(builder);
  bind_reports(builder);
  bind_channels(builder);
  bind_atomics(builder);
  bind_matmul(builder);
  bind_numbers(builder);
  bind_control_flow(builder);
  bind_builder_work(module, builder);
  bind_builder_put(builder);
}

}  // namespace tilewire::bindings

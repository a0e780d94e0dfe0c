#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/frontend/builder.h"
#include "compiler/ir/attribute.h"

namespace pybind11::detail {

/// Python's `True` is an `int` too, so the alternatives are tried in an order of our own: value,
/// bool, int, float. Integers that don't fit 64 bits are not accepted.
template <>
struct type_caster<tilewire::Operand> {
  PYBIND11_TYPE_CASTER(tilewire::Operand, const_name("Operand"));

  bool load(handle source, bool /*convert*/) {
    if (isinstance<tilewire::Value>(source)) {
      value = source.cast<tilewire::Value*>();
    } else if (isinstance<bool_>(source)) {
      value = source.cast<bool>();
    } else if (isinstance<int_>(source)) {
      make_caster<std::int64_t> integer;
      if (!integer.load(source, false)) return false;
      value = cast_op<std::int64_t>(integer);
    } else if (isinstance<float_>(source)) {
      value = source.cast<double>();
    } else {
      return false;
    }
    return true;
  }

  static handle cast(const tilewire::Operand& operand, return_value_policy policy, handle parent) {
    return std::visit(
        [&](const auto& held) {
          return make_caster<std::decay_t<decltype(held)>>::cast(held, policy, parent);
        },
        operand);
  }
};

/// As above: bool before int; lists and tuples are lists of integers.
template <>
struct type_caster<tilewire::Attribute> {
  PYBIND11_TYPE_CASTER(tilewire::Attribute, const_name("Attribute"));

  bool load(handle source, bool /*convert*/) {
    if (isinstance<bool_>(source)) {
      value = source.cast<bool>();
    } else if (isinstance<int_>(source)) {
      make_caster<std::int64_t> integer;
      if (!integer.load(source, false)) return false;
      value = cast_op<std::int64_t>(integer);
    } else if (isinstance<float_>(source)) {
      value = source.cast<double>();
    } else if (isinstance<str>(source)) {
      value = source.cast<std::string>();
    } else if (isinstance<tilewire::DType>(source)) {
      value = source.cast<tilewire::DType>();
    } else if (isinstance<list>(source) || isinstance<tuple>(source)) {
      make_caster<std::vector<std::int64_t>> integers;
      if (!integers.load(source, false)) return false;
      value = cast_op<std::vector<std::int64_t>>(integers);
    } else {
      return false;
    }
    return true;
  }

  static handle cast(const tilewire::Attribute& attribute, return_value_policy policy,
                     handle parent) {
    return std::visit(
        [&](const auto& held) {
          return make_caster<std::decay_t<decltype(held)>>::cast(held, policy, parent);
        },
        attribute);
  }
};

}  // namespace pybind11::detail

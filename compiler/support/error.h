#pragma once

#include <stdexcept>
#include <string>

#include "compiler/support/source_location.h"

namespace tilewire {

/// Every error says whose fault it is by its type, and in its text where it happened, what was
/// found, and what to do about it. `bindings/` maps each class to one Python exception.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, SourceLocation location = {});
  /// Where in the user's program; unknown where no line of it is to blame.
  const SourceLocation& location() const { return location_; }
  /// The text without the location in front.
  const std::string& message() const { return message_; }

 private:
  std::string message_;
  SourceLocation location_;
};

/// The program or the call is wrong. `tilewire.UserError`.
class UserError : public Error {
 public:
  using Error::Error;
};

/// A library that tilewire stands on failed or is missing: which one, which call, its code, its
/// log. `tilewire.BackendError`.
class BackendError : public Error {
 public:
  using Error::Error;
};

/// A wait passed its deadline: which rank never arrived, and at which line. `tilewire.HangError`.
class HangError : public Error {
 public:
  using Error::Error;
};

/// An `assert_` of a kernel that didn't hold: where, on which rank and program instance, and the
/// values. `tilewire.DeviceAssertionError`.
class DeviceAssertionError : public Error {
 public:
  using Error::Error;
};

/// A defect of tilewire itself. `tilewire.InternalError`.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace tilewire

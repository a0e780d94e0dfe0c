#pragma once

#include <string>

namespace tilewire {

/// The whole text of the error of class `Expected` that `action` throws; a description of what
/// happened instead where it throws none of that class.
template <typename Expected, typename Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("(another class of error) ") + error.what();
  }
  return "(no error)";
}

}  // namespace tilewire

// fmt's functions, compiled here once. As a header-only library fmt costs each file that includes
// it 2.7 of 3.9 seconds; the distributions package no static library of it.
#ifndef FMT_HEADER_ONLY

#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;

}  // namespace detail
FMT_END_NAMESPACE

#endif

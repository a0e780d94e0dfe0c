# Finds LLVM 19 or newer and makes `tilewire_llvm`: ORC, the x86 back end and the pass builder,
# static, with static zlib and zstd, and without libz3, which LLVM's own list would drag in.
set(ZLIB_USE_STATIC_LIBS ON)
file(GLOB llvm_roots "/usr/lib/llvm-[0-9]*")
list(SORT llvm_roots COMPARE NATURAL ORDER DESCENDING)
foreach(root IN LISTS llvm_roots)
  if(root MATCHES "llvm-([0-9]+)$" AND CMAKE_MATCH_1 GREATER_EQUAL 19
      AND EXISTS "${root}/lib/cmake/llvm/LLVMConfig.cmake")
    set(llvm_hint "${root}")
    break()
  endif()
endforeach()
find_package(LLVM CONFIG QUIET HINTS ${llvm_hint})
if(NOT LLVM_FOUND OR LLVM_VERSION_MAJOR LESS 19)
  if(TILEWIRE_REQUIRE_LLVM)
    message(FATAL_ERROR "LLVM 19 or newer not found. Install llvm-19-dev, set LLVM_DIR, or build "
      "without the CPU target: -DTILEWIRE_LLVM=OFF")
  endif()
  message(STATUS "LLVM 19 or newer not found: building without the CPU target")
  return()
endif()
message(STATUS "LLVM ${LLVM_VERSION} at ${LLVM_DIR}")
set(TILEWIRE_HAVE_LLVM ON)

set_property(TARGET LLVMSupport PROPERTY INTERFACE_LINK_LIBRARIES
  "rt;dl;m;ZLIB::ZLIB;zstd::libzstd_static;LLVMDemangle")
llvm_map_components_to_libnames(llvm_libraries orcjit x86codegen x86asmparser passes irreader)
add_library(tilewire_llvm INTERFACE)
target_include_directories(tilewire_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(tilewire_llvm INTERFACE ${llvm_definitions})
target_link_libraries(tilewire_llvm INTERFACE ${llvm_libraries})

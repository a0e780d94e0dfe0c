# The C++ package: `cmake --install BUILD --prefix PREFIX --component cpp`, then in another project
# `find_package(tilewire)` and `target_link_libraries(program PRIVATE tilewire::runtime)`.
#
#   tilewire::compiler   IR, Builder, passes, CUDA text, NVRTC
#   tilewire::runtime    that and launches; with the CPU target where LLVM was there
include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/tilewire")
set(package_targets tilewire_compiler tilewire_runtime)
if(TILEWIRE_HAVE_LLVM)
  list(APPEND package_targets tilewire_cpu_codegen tilewire_llvm)
endif()
foreach(target IN LISTS package_targets)
  string(REPLACE "tilewire_" "" short_name "${target}")
  set_target_properties(${target} PROPERTIES EXPORT_NAME "${short_name}")
endforeach()
install(TARGETS ${package_targets} EXPORT tilewireTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cpp)
install(EXPORT tilewireTargets NAMESPACE tilewire:: DESTINATION "${package_folder}" COMPONENT cpp)

# Headers keep their folders, as their own #includes name them. Those that include LLVM are the
# library's own.
foreach(folder compiler runtime)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tilewire" COMPONENT cpp
    FILES_MATCHING PATTERN "*.h" PATTERN "llvm_*.h" EXCLUDE)
endforeach()
# What hosts and kernels share.
set(shared_headers abi base channel_layout object_layout)
list(TRANSFORM shared_headers PREPEND "${PROJECT_SOURCE_DIR}/templates/tilewire/")
list(TRANSFORM shared_headers APPEND ".cuh")
install(FILES ${shared_headers}
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tilewire/templates/tilewire" COMPONENT cpp)

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/tilewireConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/tilewireConfig.cmake" INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tilewireConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tilewireConfig.cmake"
  "${PROJECT_BINARY_DIR}/tilewireConfigVersion.cmake"
  DESTINATION "${package_folder}" COMPONENT cpp)

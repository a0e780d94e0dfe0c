# Installs the C++ package to a scratch prefix, builds examples/cpp against it and nothing else, runs
# it, and looks at what it prints.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nends with ${result}\n${output}\n${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${SCRATCH}/prefix" --component cpp)
run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${SCRATCH}/build" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_EXE_LINKER_FLAGS=${LINK_OPTIONS}"
  "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build")
run("${SCRATCH}/build/rms_norm")
foreach(text "rms_norm_kernel(float* x" "tw::rsqrt" "on the CPU target: the largest error is ")
  string(FIND "${output}" "${text}" place)
  if(place LESS 0)
    message(FATAL_ERROR "rms_norm doesn't print \"${text}\":\n${output}")
  endif()
endforeach()
message("${output}")
file(REMOVE_RECURSE "${SCRATCH}")

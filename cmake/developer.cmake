# Tests, benchmarks and examples. All are globbed: a new file in its folder is enough.
find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)
list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
find_package(MPFR REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
include(GoogleTest)

# Names of tests are room/Suite.Name, so `ctest -R '^kernels/'` runs one room.
function(hodometer_add_test_program name)
  add_executable(${name}_test ${ARGN})
  set_target_properties(${name}_test PROPERTIES CXX_EXTENSIONS OFF)
  hodometer_compile_quickly(${name}_test <gtest/gtest.h>)
  target_compile_definitions(
    ${name}_test PRIVATE HODO_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden"
                         HODO_EXAMPLES_DIR="${PROJECT_SOURCE_DIR}/examples")
  if(TARGET hodo)
    target_compile_definitions(${name}_test PRIVATE HODO_PROGRAM="$<TARGET_FILE:hodo>")
  endif()
  target_link_libraries(
    ${name}_test PRIVATE hodometer hodometer_flags hwy::hwy TBB::tbb fmt::fmt-header-only
                         nlohmann_json::nlohmann_json GTest::gtest_main rapidcheck MPFR::mpfr)
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}/ DISCOVERY_TIMEOUT 60
                                    PROPERTIES TIMEOUT 600)
endfunction()

# One program per room of the library, and one per folder of tests/ that has *_test.cc.
file(GLOB rooms LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/hodometer/*
     ${PROJECT_SOURCE_DIR}/tests/*)
if(NOT TARGET hodo)  # tests/faces compares every face
  list(REMOVE_ITEM rooms ${PROJECT_SOURCE_DIR}/tests/faces)
endif()
foreach(room IN LISTS rooms)
  file(GLOB room_tests CONFIGURE_DEPENDS ${room}/*_test.cc)
  if(room_tests)
    get_filename_component(name ${room} NAME)
    hodometer_add_test_program(${name} ${room_tests})
  endif()
endforeach()

if(TARGET hodo)
  file(GLOB cli_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*_test.cc)
  if(cli_tests)
    hodometer_add_test_program(cli ${cli_tests})
    target_link_libraries(cli_test PRIVATE $<$<TARGET_EXISTS:hodo_cli>:hodo_cli>)
    add_dependencies(cli_test hodo)
  endif()
  add_dependencies(faces_test hodo)
endif()

# Benchmarks check before they time, but are not tests: a loaded machine must not fail anyone.
file(GLOB benchmarks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/benchmarks/*_bench.cc)
if(benchmarks)
  find_package(benchmark REQUIRED)
endif()
foreach(source IN LISTS benchmarks)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE hodometer hodometer_flags hwy::hwy TBB::tbb
                                        fmt::fmt-header-only nlohmann_json::nlohmann_json
                                        benchmark::benchmark)
endforeach()

# An example sees what a user sees: the library and its headers, nothing else.
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c
     ${PROJECT_SOURCE_DIR}/examples/*.cc)
foreach(source IN LISTS examples)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE hodometer hodometer_flags)
  add_test(NAME examples/${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endforeach()

# Every header compiles alone: an object library nobody links, one tiny source per header.
file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/hodometer/*.h ${PROJECT_SOURCE_DIR}/hodometer/*/*.h)
list(FILTER headers EXCLUDE REGEX "-inl\\.h$")
set(header_sources)
foreach(header IN LISTS headers)
  set(suffixes cc)
  if(header MATCHES "_c\\.h$")  # the C face must also be C
    list(APPEND suffixes c)
  endif()
  foreach(suffix IN LISTS suffixes)
    set(source ${PROJECT_BINARY_DIR}/header_alone/${header}.${suffix})
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
    list(APPEND header_sources ${source})
  endforeach()
endforeach()
add_library(header_alone OBJECT EXCLUDE_FROM_ALL ${header_sources})
set_target_properties(header_alone PROPERTIES CXX_EXTENSIONS OFF)
target_compile_options(header_alone PRIVATE -O0)
target_compile_definitions(header_alone PRIVATE
                           HODO_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden")
target_link_libraries(header_alone PRIVATE hodometer hodometer_flags GTest::gtest)

# The checks have tests like any other code.
file(GLOB check_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ci/*_test.py
     ${PROJECT_SOURCE_DIR}/tests/*/*_test.py)
foreach(source IN LISTS check_tests)
  get_filename_component(name ${source} NAME_WE)
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  add_test(NAME ${folder}/${name} COMMAND Python3::Interpreter ${source})
endforeach()

# What the documents say a command prints is what it prints.
if(TARGET hodo)
  add_test(NAME docs/examples
           COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/docs/run_examples.py
                   $<TARGET_FILE_DIR:hodo>)
  add_test(NAME docs/json
           COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/docs/check_json.py
                   $<TARGET_FILE_DIR:hodo>)
endif()

# Separate projects use an install tree. They compile the library once more, so they run alone and
# only where the presets ask for them.
foreach(kind IN ITEMS static shared)
  add_test(NAME consume/${kind}
           COMMAND ${PROJECT_SOURCE_DIR}/tests/consume/check.sh ${kind} ${PROJECT_BINARY_DIR})
  set_tests_properties(
    consume/${kind} PROPERTIES LABELS consume RUN_SERIAL ON TIMEOUT 1800
                               ENVIRONMENT "CC=${CMAKE_C_COMPILER};CXX=${CMAKE_CXX_COMPILER}")
endforeach()

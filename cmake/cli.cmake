# The hodo program: cli/main.cc over the other files of cli/, which a test can link as well.
file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cc)
list(FILTER cli_sources EXCLUDE REGEX "(_test|/main)\\.cc$")

if(EXISTS ${PROJECT_SOURCE_DIR}/cli/main.cc)
  find_package(CLI11 REQUIRED)
  add_executable(hodo ${PROJECT_SOURCE_DIR}/cli/main.cc)
  set_target_properties(hodo PROPERTIES CXX_EXTENSIONS OFF)
  if(cli_sources)
    # An object library: a command registers itself, and nothing else refers to its file.
    add_library(hodo_cli OBJECT ${cli_sources})
    set_target_properties(hodo_cli PROPERTIES CXX_EXTENSIONS OFF)
    hodometer_compile_quickly(hodo_cli <CLI/CLI.hpp>)
    target_link_libraries(
      hodo_cli PUBLIC hodometer hodometer_flags CLI11::CLI11 fmt::fmt-header-only
                      nlohmann_json::nlohmann_json)
    target_link_libraries(hodo PRIVATE hodo_cli)
  else()
    target_link_libraries(
      hodo PRIVATE hodometer hodometer_flags CLI11::CLI11 fmt::fmt-header-only
                   nlohmann_json::nlohmann_json)
  endif()
endif()

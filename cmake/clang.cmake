# The newest clang from 16 on, whatever the distribution calls it: Debian 12 has clang-16 beside an
# older plain clang, Debian 13 has clang-19.
foreach(version RANGE 30 16 -1)
  list(APPEND clang_names clang++-${version})
endforeach()
find_program(HODOMETER_CLANGXX NAMES ${clang_names} clang++ NAMES_PER_DIR)
if(NOT HODOMETER_CLANGXX)
  message(FATAL_ERROR "no clang++ from version 16 on was found")
endif()
string(REPLACE "clang++" "clang" HODOMETER_CLANG "${HODOMETER_CLANGXX}")
set(CMAKE_C_COMPILER ${HODOMETER_CLANG})
set(CMAKE_CXX_COMPILER ${HODOMETER_CLANGXX})

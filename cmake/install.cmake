# The package: find_package(hodometer) gives hodometer::hodometer, pkg-config gives hodometer.
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hodometer)

install(TARGETS hodometer EXPORT hodometer)
if(TARGET hodo)
  if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH library_dir ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(hodo PROPERTIES INSTALL_RPATH "$ORIGIN/${library_dir}")
  endif()
  install(TARGETS hodo)
endif()
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/hodometer
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING
  PATTERN "*.h"
  PATTERN "*-inl.h" EXCLUDE
  PATTERN "*_test*.h" EXCLUDE)

install(EXPORT hodometer NAMESPACE hodometer:: DESTINATION ${config_dir}
        FILE hodometer-targets.cmake)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/hodometer-config.cmake.in ${PROJECT_BINARY_DIR}/hodometer-config.cmake
  INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hodometer-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hodometer-config.cmake
              ${PROJECT_BINARY_DIR}/hodometer-config-version.cmake DESTINATION ${config_dir})

# The .pc names its own prefix relative to itself, so the tree may be moved.
file(RELATIVE_PATH HODOMETER_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/hodometer.pc.in ${PROJECT_BINARY_DIR}/hodometer.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hodometer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# make install: headers, both libraries, the command, pkg-config file, CMake package, man pages, completion, magic.

include(CMakePackageConfigHelpers)

install(FILES ${MLDF_HEADERS} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/mldf")
# Two export sets: a program that links the shared library need not have the development files of zstd and the rest.
install(TARGETS mldf EXPORT mldfTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS mldf_static EXPORT mldfStaticTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET mldf_av) # found relative to libmldf and to the command (src/os/module.c)
    install(TARGETS mldf_av mldf_avformat LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/mldf")
endif()
if(TARGET mldf_cli)
    install(TARGETS mldf_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
    install(FILES "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tar_to_tbl" DESTINATION "${CMAKE_INSTALL_BINDIR}") # a link to mldf
endif()
if(TARGET mldf_sentencepiece)
    install(TARGETS mldf_sentencepiece RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

string(REGEX REPLACE ">=[0-9.]+" "" MLDF_PC_REQUIRES_PRIVATE "libzstd libxxhash zlib libjpeg spng${MLDF_PC_OPTIONAL}")
# Relative to the file itself, so that the installed tree can be moved and `cmake --install --prefix` works.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(MLDF_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
    set(MLDF_PC_LIBDIR "${CMAKE_INSTALL_FULL_LIBDIR}")
    set(MLDF_PC_INCLUDEDIR "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
    file(RELATIVE_PATH mldf_pc_up "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
    set(MLDF_PC_PREFIX "\${pcfiledir}/${mldf_pc_up}")
    set(MLDF_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(MLDF_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/mldf.pc.in "${CMAKE_BINARY_DIR}/mldf.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/mldf.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

set(mldf_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mldf")
configure_package_config_file(cmake/mldfConfig.cmake.in "${CMAKE_BINARY_DIR}/mldfConfig.cmake"
    INSTALL_DESTINATION "${mldf_package_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/mldfConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/mldfConfig.cmake" "${CMAKE_BINARY_DIR}/mldfConfigVersion.cmake"
    DESTINATION "${mldf_package_dir}")
install(EXPORT mldfTargets NAMESPACE mldf:: DESTINATION "${mldf_package_dir}")
install(EXPORT mldfStaticTargets NAMESPACE mldf:: DESTINATION "${mldf_package_dir}")

file(GLOB mldf_man1 CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/man/*.1")
file(GLOB mldf_man3 CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/man/*.3")
install(FILES ${mldf_man1} DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES ${mldf_man3} DESTINATION "${CMAKE_INSTALL_MANDIR}/man3")
if(EXISTS "${CMAKE_SOURCE_DIR}/completions/mldf.bash")
    install(FILES completions/mldf.bash DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME mldf)
    install(FILES completions/_mldf DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
endif()
if(EXISTS "${CMAKE_SOURCE_DIR}/share/mldf.magic")
    install(FILES share/mldf.magic DESTINATION "${CMAKE_INSTALL_DATADIR}/mldf")
endif()

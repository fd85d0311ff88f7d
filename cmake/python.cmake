# The extension module mldf._mldf and the package around it (python/mldf), as the install component "python".
#
# pip reaches this through pyproject.toml (scikit-build-core), which sets SKBUILD; `make test` through the preset dev, which builds
# the same target and installs the component into .venv. The stable ABI: one binary for Python 3.11 and every later version.

find_package(Python3 3.11 COMPONENTS Interpreter Development.Module)
if(NOT Python3_Development.Module_FOUND)
    message(STATUS "mldf: no headers of Python >= 3.11, so no Python package (Debian: apt-get install python3-dev)")
    return() # with ON, CMakeLists.txt has refused already
endif()

file(GLOB mldf_python_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/python/_mldf/*.c")
add_library(mldf_python MODULE ${mldf_python_sources})
set_target_properties(mldf_python PROPERTIES PREFIX "" OUTPUT_NAME "_mldf" SUFFIX ".abi3.so"
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/python/mldf")
target_include_directories(mldf_python SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
target_link_libraries(mldf_python PRIVATE mldf_static mldf_flags)
# Python keeps functions in void pointers.
set_property(SOURCE ${mldf_python_sources} APPEND PROPERTY COMPILE_OPTIONS -Wno-pedantic)
# Hide libmldf's symbols: a process may also load libmldf.so, and each must use its own.
if(APPLE)
    target_link_options(mldf_python PRIVATE "-Wl,-undefined,dynamic_lookup" "-Wl,-exported_symbol,_PyInit__mldf")
else()
    # The script also hides _end and its like, which Debian's libvorbis exports and so makes every linker export.
    target_link_options(mldf_python PRIVATE "-Wl,--exclude-libs,ALL" "-Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/python.map")
endif()

install(TARGETS mldf_python LIBRARY DESTINATION mldf COMPONENT python EXCLUDE_FROM_ALL)
if(TARGET mldf_av)
    install(TARGETS mldf_av mldf_avformat LIBRARY DESTINATION mldf/lib COMPONENT python EXCLUDE_FROM_ALL)
endif()
if(TARGET mldf_cli) # started by the scripts of python/mldf_command
    install(TARGETS mldf_cli RUNTIME DESTINATION mldf/bin COMPONENT python EXCLUDE_FROM_ALL)
endif()
if(NOT SKBUILD) # which takes the Python files itself, so that an editable install uses those of the tree
    install(DIRECTORY "${CMAKE_SOURCE_DIR}/python/mldf" "${CMAKE_SOURCE_DIR}/python/mldf_command" DESTINATION . COMPONENT python EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
endif()

# Tests, fuzz targets, benchmarks and examples, all found by their place in the tree.
#
#   tests/unit/**/test_*.c, tests/{roundtrip,golden,interop,stress}/test_*.c   one program each, linked with the static library
#   tests/fault/test_*.c     the same, with system calls wrapped: test_name.wrap lists the symbols, one per line
#   tests/support/*.c        shared by all of them
#   tests/cli/cases/*.sh     one test each, run by tests/cli/run.sh
#   fuzz/fuzz_*.c            libFuzzer programs with MLDF_FUZZ, else replay_* over fuzz/corpus/*/
#   bench/bench_*.c          programs, never tests;  examples/*.c  programs, tests when <name>.test stands beside them

enable_testing()

# A limit ends what hangs; it is no test of speed. The slowest test takes a minute on an idle machine, and ten on a busy one.
set(MLDF_TEST_TIMEOUT 1800)
set(mldf_test_environment "MLDF_SOURCE_DIR=${CMAKE_SOURCE_DIR}" "MLDF_BUILD_DIR=${CMAKE_BINARY_DIR}")
if(TARGET mldf_cli)
    list(APPEND mldf_test_environment "MLDF=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/mldf")
endif()
set(mldf_test_launcher "")
if(MLDF_SANITIZE)
    list(APPEND mldf_test_environment
        "ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1"
        "UBSAN_OPTIONS=print_stacktrace=1"
        "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1"
        "MLDF_SANITIZE=${MLDF_SANITIZE}")
    if(MLDF_SANITIZE MATCHES "thread")
        # Older thread sanitizers cannot place their shadow memory under strong address randomisation.
        find_program(MLDF_SETARCH setarch)
        if(MLDF_SETARCH)
            execute_process(COMMAND "${MLDF_SETARCH}" -R true RESULT_VARIABLE mldf_setarch_result ERROR_QUIET)
            if(mldf_setarch_result EQUAL 0)
                set(mldf_test_launcher "${MLDF_SETARCH}" -R)
            endif()
        endif()
    endif()
endif()

# add_test for a program or a script, with the environment and the limits that all tests share.
function(mldf_add_test name label)
    add_test(NAME "${name}" COMMAND ${ARGN} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    set_tests_properties("${name}" PROPERTIES
        LABELS "${label}" TIMEOUT ${MLDF_TEST_TIMEOUT} ENVIRONMENT "${mldf_test_environment}" SKIP_RETURN_CODE 77)
endfunction()

# A program that may look inside the library.
function(mldf_inner_program target)
    add_executable(${target} ${ARGN})
    target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/tests")
    target_compile_definitions(${target} PRIVATE "$<$<BOOL:${MLDF_HAVE_SODIUM}>:MLDF_HAVE_SODIUM=1>"
        "$<$<BOOL:${MLDF_HAVE_LZ4}>:MLDF_HAVE_LZ4=1>"
        "$<$<BOOL:${MLDF_HAVE_WEBP}>:MLDF_HAVE_WEBP=1>" "$<$<BOOL:${MLDF_HAVE_TIFF}>:MLDF_HAVE_TIFF=1>")
    target_link_libraries(${target} PRIVATE mldf_static mldf_flags m)
endfunction()

# tests/unit/util/test_crc32c.c becomes the test unit/util/test_crc32c and the target unit_util_test_crc32c.
function(mldf_c_test source)
    file(RELATIVE_PATH name "${CMAKE_SOURCE_DIR}/tests" "${source}")
    string(REGEX REPLACE "\\.c$" "" name "${name}")
    string(REGEX REPLACE "/.*" "" kind "${name}")
    string(REPLACE "/" "_" target "${name}")
    mldf_inner_program(${target} "${source}" ${ARGN})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    if(TARGET mldf_test_support)
        target_link_libraries(${target} PRIVATE mldf_test_support)
    endif()
    mldf_add_test("${name}" ${kind} ${mldf_test_launcher} $<TARGET_FILE:${target}>)
endfunction()

if(MLDF_BUILD_TESTS)
    file(GLOB support CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/support/*.c")
    if(support)
        add_library(mldf_test_support STATIC ${support})
        target_include_directories(mldf_test_support PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/tests")
        target_compile_definitions(mldf_test_support PRIVATE "$<$<BOOL:${MLDF_HAVE_SODIUM}>:MLDF_HAVE_SODIUM=1>")
        target_link_libraries(mldf_test_support PUBLIC mldf_static PRIVATE mldf_flags)
    endif()

    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/unit/test_*.c")
    foreach(kind roundtrip golden interop stress)
        file(GLOB more CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/${kind}/test_*.c")
        list(APPEND sources ${more})
    endforeach()
    foreach(source ${sources})
        mldf_c_test("${source}")
    endforeach()

    # Programs, not tests: files for the real programs to read (tools/interop/run.sh), and what our readers see as JSON.
    foreach(program interop_files interop_dump)
        mldf_inner_program(${program} "${CMAKE_SOURCE_DIR}/tests/interop/${program}.c")
        set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    endforeach()

    # One operation on raw values, for tests/python/test_ops_*.py.
    mldf_inner_program(run_op "${CMAKE_SOURCE_DIR}/tests/unit/pipeline/run_op.c")
    set_target_properties(run_op PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    # Planes of a video's frames, for tests/python/test_video_zoo.py.
    foreach(program IN ITEMS video_planes video_pairs)
        mldf_inner_program(${program} "${CMAKE_SOURCE_DIR}/tests/unit/field/${program}.c")
        set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    endforeach()
    # The kernels for tests/python/test_kernels.py, which states in NumPy what they compute.
    mldf_inner_program(kernel_run "${CMAKE_SOURCE_DIR}/tests/unit/kernel/kernel_run.c")
    set_target_properties(kernel_run PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")

    # Fault tests replace these calls by their own __wrap_ functions; every symbol that is listed must be defined there.
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/fault/*.c")
    set(helpers ${sources})
    list(FILTER sources INCLUDE REGEX "/test_[^/]*\\.c$")
    list(FILTER helpers EXCLUDE REGEX "/test_[^/]*\\.c$")
    foreach(source ${sources})
        mldf_c_test("${source}" ${helpers})
        get_filename_component(stem "${source}" NAME_WE)
        set(wrap_file "${CMAKE_SOURCE_DIR}/tests/fault/${stem}.wrap")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/fault")
        if(EXISTS "${wrap_file}")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${wrap_file}")
            file(STRINGS "${wrap_file}" symbols REGEX "^[A-Za-z_]")
        else()
            set(symbols malloc calloc realloc aligned_alloc posix_memalign pwrite pwritev write pread read open openat
                ftruncate fsync fdatasync rename renameat unlink unlinkat link linkat close mmap fallocate
                posix_fallocate sync_file_range)
        endif()
        foreach(symbol ${symbols})
            string(STRIP "${symbol}" symbol)
            target_link_options(fault_${stem} PRIVATE "-Wl,--wrap=${symbol}")
        endforeach()
    endforeach()

    if(TARGET mldf_cli)
        file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/cli/cases/*.sh")
        foreach(source ${sources})
            get_filename_component(case "${source}" NAME_WE)
            mldf_add_test(cli/${case} cli "${CMAKE_SOURCE_DIR}/tests/cli/run.sh" ${case})
        endforeach()
    endif()

    if(TARGET mldf_cli)
        mldf_add_test(package/magic package "${CMAKE_SOURCE_DIR}/tests/cmake/magic.sh")
        mldf_add_test(package/docs package "${CMAKE_SOURCE_DIR}/tests/cmake/docs.sh")
    endif()

    find_package(Python3 3.9 COMPONENTS Interpreter)
    if(Python3_Interpreter_FOUND AND TARGET mldf_cli AND MLDF_HAVE_SODIUM AND NOT mldf_sanitize)
        # The commands and C programs of README.md and the guides, as they stand there; encryption is among them.
        mldf_add_test(docs/readme docs "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/tests/readme/run.py")
        set_property(TEST docs/readme APPEND PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
    endif()
    if(Python3_Interpreter_FOUND AND EXISTS "${CMAKE_SOURCE_DIR}/tools/check_layers.py")
        mldf_add_test(lint/layers lint "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/tools/check_layers.py")
        mldf_add_test(lint/layers_self_test lint
            "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/tools/check_layers.py" --self-test)
    endif()

    # No libm but what IEEE 754 defines. The sanitizers' and gcov's runtimes would be in the way there.
    if(NOT mldf_sanitize AND NOT MLDF_COVERAGE)
        mldf_add_test(lint/libm lint "${CMAKE_SOURCE_DIR}/tools/check_libm.sh" $<TARGET_FILE:mldf>)
        set_property(TEST lint/libm APPEND PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
    endif()

    # Headers alone, exported symbols, and programs built against an installed copy. The sanitizers' own runtime and
    # symbols would be in the way there.
    if(NOT mldf_sanitize AND NOT MLDF_COVERAGE)
        foreach(check headers symbols consumer older)
            if(EXISTS "${CMAKE_SOURCE_DIR}/tests/cmake/${check}.sh")
                mldf_add_test(package/${check} package "${CMAKE_SOURCE_DIR}/tests/cmake/${check}.sh")
                set_property(TEST package/${check} APPEND PROPERTY ENVIRONMENT "CC=${CMAKE_C_COMPILER}"
                    "CMAKE=${CMAKE_COMMAND}" "MLDF_SHARED=$<TARGET_FILE:mldf>" "MLDF_LIBDIR=${CMAKE_INSTALL_LIBDIR}")
            endif()
        endforeach()
    endif()
endif()

# ---- Fuzz targets -------------------------------------------------------------------------------------------------------

file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/fuzz/*.c")
set(helpers ${sources})
list(FILTER sources INCLUDE REGEX "/fuzz_[^/]*\\.c$")
list(FILTER helpers EXCLUDE REGEX "/(fuzz_[^/]*|replay_main)\\.c$")
if(MLDF_FUZZ OR MLDF_BUILD_TESTS)
    foreach(source ${sources})
        get_filename_component(stem "${source}" NAME_WE)
        string(REGEX REPLACE "^fuzz_" "" name "${stem}")
        if(MLDF_FUZZ)
            mldf_inner_program(${stem} "${source}" ${helpers})
            target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
            set_target_properties(${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
        endif()
        if(MLDF_BUILD_TESTS AND NOT MLDF_FUZZ AND EXISTS "${CMAKE_SOURCE_DIR}/fuzz/replay_main.c")
            mldf_inner_program(replay_${name} "${source}" ${helpers} "${CMAKE_SOURCE_DIR}/fuzz/replay_main.c")
            set_target_properties(replay_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/fuzz")
            if(IS_DIRECTORY "${CMAKE_SOURCE_DIR}/fuzz/corpus/${name}")
                mldf_add_test(fuzz/replay_${name} fuzz ${mldf_test_launcher} $<TARGET_FILE:replay_${name}>
                    "${CMAKE_SOURCE_DIR}/fuzz/corpus/${name}")
            endif()
        endif()
        # A fuzz target's entry point is declared by libFuzzer's convention, not by a header.
        set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS -Wno-missing-prototypes)
    endforeach()
endif()

# ---- Benchmarks and examples ----------------------------------------------------------------------------------------------

if(MLDF_BUILD_BENCH)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/bench/*.c")
    set(helpers ${sources})
    list(FILTER sources INCLUDE REGEX "/bench_[^/]*\\.c$")
    list(FILTER helpers EXCLUDE REGEX "/bench_[^/]*\\.c$")
    foreach(source ${sources})
        get_filename_component(stem "${source}" NAME_WE)
        mldf_inner_program(${stem} "${source}" ${helpers})
        set_target_properties(${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
    endforeach()
endif()

if(MLDF_BUILD_EXAMPLES)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/examples/*.c")
    foreach(source ${sources})
        # As a user would build it: public headers, the shared library, the compiler's default dialect.
        get_filename_component(stem "${source}" NAME_WE)
        add_executable(example_${stem} "${source}")
        set_target_properties(example_${stem} PROPERTIES
            OUTPUT_NAME ${stem} C_EXTENSIONS ON RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/examples")
        target_compile_options(example_${stem} PRIVATE -Wall -Wextra)
        target_link_libraries(example_${stem} PRIVATE mldf)
        if(mldf_sanitize)
            target_link_libraries(example_${stem} PRIVATE mldf_flags)
        endif()
        if(MLDF_BUILD_TESTS AND EXISTS "${CMAKE_SOURCE_DIR}/examples/${stem}.test")
            # <name>.test is a shell script; $EXAMPLE is the program.
            mldf_add_test(example/${stem} example ${mldf_test_launcher} sh "${CMAKE_SOURCE_DIR}/examples/${stem}.test")
            set_property(TEST example/${stem} APPEND PROPERTY ENVIRONMENT
                "EXAMPLE=$<TARGET_FILE:example_${stem}>")
        endif()
    endforeach()
endif()

# ---- The attack (make attack): never part of a build or of the tests -------------------------------------------------------

if(EXISTS "${CMAKE_SOURCE_DIR}/tools/attack" AND EXISTS "${CMAKE_SOURCE_DIR}/fuzz/fixup.c")
    mldf_inner_program(attack_runner EXCLUDE_FROM_ALL "${CMAKE_SOURCE_DIR}/tools/attack/runner.c"
        "${CMAKE_SOURCE_DIR}/tools/attack/mutate.c" "${CMAKE_SOURCE_DIR}/tools/attack/use.c"
        "${CMAKE_SOURCE_DIR}/tools/attack/use_write.c" "${CMAKE_SOURCE_DIR}/tools/attack/use_text.c"
        "${CMAKE_SOURCE_DIR}/fuzz/fixup.c")
    set_target_properties(attack_runner PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/attack")
    add_library(attack_fail MODULE EXCLUDE_FROM_ALL "${CMAKE_SOURCE_DIR}/tools/attack/fail.c")
    target_link_libraries(attack_fail PRIVATE ${CMAKE_DL_LIBS})
    set_target_properties(attack_fail PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/attack")
endif()

# Compiler flags in one interface target, mldf_flags, that every target of this tree links and no installed one exports.

add_library(mldf_flags INTERFACE)
target_compile_options(mldf_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wpointer-arith
    -Wcast-qual -Wwrite-strings
    -ffp-contract=off) # the same results on every machine: no fused multiply-add behind our back
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # snprintf cuts messages and names to their size by design.
    target_compile_options(mldf_flags INTERFACE -Wno-format-truncation)
endif()
if(MLDF_WERROR)
    target_compile_options(mldf_flags INTERFACE -Werror)
endif()

# Strict C11 hides what POSIX and Linux add. Defined as empty, so that a file may also say `#define _GNU_SOURCE` itself.
target_compile_definitions(mldf_flags INTERFACE "_GNU_SOURCE=")
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
    target_compile_definitions(mldf_flags INTERFACE _FILE_OFFSET_BITS=64)
endif()

set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG" CACHE STRING "Flags of the release build" FORCE)

if(MLDF_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "MLDF_FUZZ=ON needs clang (Debian: apt-get install clang); "
            "the compiler is ${CMAKE_C_COMPILER_ID}.")
    endif()
    set(mldf_sanitize "fuzzer-no-link,address,undefined")
else()
    set(mldf_sanitize "${MLDF_SANITIZE}")
endif()
if(mldf_sanitize)
    set(mldf_sanitize_options -fsanitize=${mldf_sanitize} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(mldf_flags INTERFACE ${mldf_sanitize_options})
    target_link_options(mldf_flags INTERFACE ${mldf_sanitize_options})
endif()
if(MLDF_COVERAGE)
    target_compile_options(mldf_flags INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(mldf_flags INTERFACE --coverage)
endif()

# A file whose name ends in an instruction set gets that set's flags on its own architecture. Elsewhere it is compiled
# without them and must #if itself away; what is used is chosen at run time.
function(mldf_isa_flags)
    foreach(source ${ARGN})
        get_filename_component(name "${source}" NAME)
        set(flags "")
        if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
            if(name MATCHES "_sse42")
                list(APPEND flags -msse4.2)
            endif()
            if(name MATCHES "_pclmul")
                list(APPEND flags -msse4.2 -mpclmul)
            endif()
            if(name MATCHES "_sse4\\.")
                list(APPEND flags -msse4.1)
            endif()
            if(name MATCHES "_avx2")
                list(APPEND flags -mavx2 -mf16c)
            endif()
            if(name MATCHES "_avx512vbmi")
                list(APPEND flags -mavx512vbmi)
            endif()
            if(name MATCHES "_avx512")
                list(APPEND flags -mavx512f -mavx512bw -mavx512dq -mavx512vl)
                # gcc keeps 64-byte vectors on a stack that the address sanitizer's stand-in aligns to 32 bytes only.
                if(mldf_sanitize MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
                    list(APPEND flags --param=asan-use-after-return=0)
                endif()
            endif()
        elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
            if(name MATCHES "_armcrc")
                list(APPEND flags -march=armv8-a+crc)
            endif()
        endif()
        if(flags)
            set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS ${flags})
        endif()
    endforeach()
endfunction()

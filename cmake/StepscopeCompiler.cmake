# Language level, warnings, optimisation and sanitizers, equal for all targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

add_library(stepscope_compiler INTERFACE)
target_include_directories(stepscope_compiler INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(stepscope_compiler INTERFACE
    -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers -fomit-frame-pointer)
# Stacks are unwound by call frame information; of a blocked thread only the stack pointer is known, so frame pointers hinder.
if(STEPSCOPE_WERROR)
    target_compile_options(stepscope_compiler INTERFACE -Werror)
endif()
if(STEPSCOPE_SANITIZE)
    # Debug checks of the standard library find what the sanitizers cannot: an index past a vector's end but inside its capacity.
    target_compile_options(stepscope_compiler INTERFACE
        "-fsanitize=${STEPSCOPE_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer -UNDEBUG -D_GLIBCXX_ASSERTIONS)
    target_link_options(stepscope_compiler INTERFACE "-fsanitize=${STEPSCOPE_SANITIZE}")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # GCC sees overflows that cannot happen once the sanitizers' own code is in the way.
        target_compile_options(stepscope_compiler INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
    endif()
endif()

find_program(STEPSCOPE_CCACHE ccache)
if(STEPSCOPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # ccache declines sources with a precompiled header unless told about it. The build folder is left out of the hash, so
    # that presets with equal options share their objects.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
        "${STEPSCOPE_CCACHE}")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        add_compile_options(-fpch-preprocess)
    endif()
endif()

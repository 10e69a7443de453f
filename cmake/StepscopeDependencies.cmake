# Everything that comes from the distribution's packages.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

# Not find_package(dnnl): Debian's package file asks for OpenCL headers that the library does not need.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(dnnl_library INTERFACE IMPORTED)
target_include_directories(dnnl_library SYSTEM INTERFACE "${DNNL_INCLUDE_DIR}")
target_link_libraries(dnnl_library INTERFACE "${DNNL_LIBRARY}")

find_path(TL_EXPECTED_INCLUDE_DIR tl/expected.hpp REQUIRED)
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(LibArchive REQUIRED) # zip and tar
find_package(simdjson REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(libdw REQUIRED IMPORTED_TARGET libdw) # elfutils: names and lines of code, unwinding
pkg_check_modules(libelf REQUIRED IMPORTED_TARGET libelf)
pkg_check_modules(capstone REQUIRED IMPORTED_TARGET capstone) # instructions of generated code
find_package(OpenMP REQUIRED)

if(STEPSCOPE_GUI OR STEPSCOPE_TESTS)
    find_package(Qt6 6.4 REQUIRED COMPONENTS Core Test)
endif()
if(STEPSCOPE_GUI)
    find_package(Qt6 6.4 REQUIRED COMPONENTS Gui Widgets Svg)
endif()

# Project-wide compile settings, dependencies and the two helpers every folder uses:
#   dd_add_library(<folder> [OPTIMIZE regex] [ALONE regex] [DEPS target...])   one static library per folder of lib/,
#     sources globbed; OPTIMIZE: files that compute or parse much; ALONE: files whose local names repeat those of others
#   dd_add_test(<name> [OPTIMIZE] SOURCES ... DEPS ...)    one Catch2 program registered with ctest; OPTIMIZE when it computes

# Nearly all of this program is tables and text: they gain nothing from more than -Og, and compile in less than half the time.
# Folders that compute or parse ask for more (OPTIMIZE); tables of rules, which run once at start, take less.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT DEFINED DD_KEEP_FLAGS)
  set(CMAKE_CXX_FLAGS_RELEASE "-Og -DNDEBUG")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # GCC collects its garbage every few megabytes: a tenth of the time of sources like these
  add_compile_options("SHELL:$<$<COMPILE_LANGUAGE:CXX>:--param ggc-min-heapsize=500000>")
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(pugixml REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(simdjson REQUIRED)

find_program(DD_CCACHE ccache)
if(DD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${DD_CCACHE}")
endif()

add_library(dd_options INTERFACE)
target_compile_options(dd_options INTERFACE -Wall -Wextra -Wpedantic -Wno-psabi
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>) # false alarms of GCC 12
target_include_directories(dd_options INTERFACE "${PROJECT_SOURCE_DIR}/lib")
target_compile_definitions(dd_options INTERFACE
  DD_VERSION="${PROJECT_VERSION}" SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL)
if(DD_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# libFuzzer programs: everything is built with coverage counters, or the fuzzer would see only its own harness.
option(DD_FUZZERS "libFuzzer programs (needs clang)" OFF)
if(DD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "DD_FUZZERS needs clang: -DCMAKE_CXX_COMPILER=clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Several sources of a target compiled as one, so that their common headers are read once: half of the build's time. Off
# where ccache is, which then reuses single files. File-local names must therefore be unique within a library.
if(DD_CCACHE)
  option(DD_UNITY "Compile several sources as one" OFF)
else()
  option(DD_UNITY "Compile several sources as one" ON)
endif()
set(CMAKE_UNITY_BUILD ${DD_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 40) # in effect all of a library that one optimisation level takes

# The standard headers that nearly every file includes, compiled once for each optimisation level: a third of the build's
# time. ccache cannot reuse what was compiled against a header of another build folder, so that with it they stay off.
if(DD_CCACHE)
  option(DD_PRECOMPILE "Precompiled standard headers" OFF)
else()
  option(DD_PRECOMPILE "Precompiled standard headers" ON)
endif()
set(DD_COMMON_HEADERS <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <set> <span> <string> <string_view>
  <vector> <fmt/format.h>)

# dd_precompile(<target> <name> [header...]): gives the target the headers precompiled under that name; the targets of one
# name must be compiled with the same options.
function(dd_precompile target name)
  if(NOT DD_PRECOMPILE)
    return()
  endif()
  if(TARGET dd_headers_${name})
    target_precompile_headers(${target} REUSE_FROM dd_headers_${name})
    return()
  endif()
  set(source "${CMAKE_BINARY_DIR}/headers_${name}.cpp")
  if(NOT EXISTS "${source}")
    file(WRITE "${source}" "")
  endif()
  add_library(dd_headers_${name} OBJECT "${source}")
  target_link_libraries(dd_headers_${name} PRIVATE dd_options fmt::fmt)
  get_target_property(options ${target} COMPILE_OPTIONS)
  if(options)
    target_compile_options(dd_headers_${name} PRIVATE ${options})
  endif()
  target_precompile_headers(dd_headers_${name} PRIVATE ${DD_COMMON_HEADERS} ${ARGN})
  target_precompile_headers(${target} REUSE_FROM dd_headers_${name})
endfunction()

function(dd_add_library folder)
  cmake_parse_arguments(ARG "" "OPTIMIZE;ALONE" "DEPS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  foreach(pattern IN LISTS ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  if(ARG_ALONE)
    set(alone ${sources})
    list(FILTER alone INCLUDE REGEX "${ARG_ALONE}")
    set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  string(REPLACE "/" "_" target "dd_${folder}")
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE dd_options ${ARG_DEPS})
    return()
  endif()
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC dd_options ${ARG_DEPS})
  dd_precompile(${target} plain)
  dd_compile_part(${target} tables "rules\\.cpp$" -O0)
  if(ARG_OPTIMIZE) # apart under sanitizers too: what is compiled as one source is then the same in every build
    dd_compile_part(${target} fast "${ARG_OPTIMIZE}" $<IF:$<BOOL:${DD_SANITIZE}>,-O1,-O2>)
  endif()
endfunction()

# dd_compile_part(<target> <name> <regex> <option>): compiles those of the target's sources with the option, which needs a
# target of its own for its precompiled headers.
function(dd_compile_part target name regex option)
  get_target_property(all ${target} SOURCES)
  set(part "")
  set(sources "")
  foreach(source IN LISTS all)
    string(REPLACE "${CMAKE_CURRENT_SOURCE_DIR}/" "" local "${source}")
    if(local MATCHES "${regex}" AND NOT local MATCHES "^\\$<")
      list(APPEND part "${source}")
    else()
      list(APPEND sources "${source}")
    endif()
  endforeach()
  if(NOT part)
    return()
  endif()
  add_library(${target}_${name} OBJECT ${part})
  target_compile_options(${target}_${name} PRIVATE ${option})
  target_link_libraries(${target}_${name} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  target_compile_definitions(${target}_${name} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  dd_precompile(${target}_${name} ${name})
  set_property(TARGET ${target} PROPERTY SOURCES ${sources} $<TARGET_OBJECTS:${target}_${name}>)
endfunction()

# What a test calls is optimised; its own lines need not be. dd_plain_test for those of Catch2, dd_plain_program for others.
function(dd_plain_test name)
  target_compile_options(${name} PRIVATE -O0)
  dd_precompile(${name} tests "${PROJECT_SOURCE_DIR}/tests/support/catch.hpp")
endfunction()
function(dd_plain_program name)
  target_compile_options(${name} PRIVATE -O0)
  dd_precompile(${name} tables)
endfunction()

function(dd_add_test name)
  cmake_parse_arguments(ARG "OPTIMIZE" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE dd_test_support ${ARG_DEPS})
  if(NOT ARG_OPTIMIZE)
    dd_plain_test(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "DD_SOURCE_DIR=${PROJECT_SOURCE_DIR};DD_BINARY=$<$<TARGET_EXISTS:dispatchdoctor>:$<TARGET_FILE:dispatchdoctor>>"
    LABELS "${ARG_LABELS}")
endfunction()

# Project-wide compile settings, dependencies and the two helpers every folder uses:
#   dd_add_library(<folder> [DEPS target...])   one static library per folder of lib/, sources globbed
#   dd_add_test(<name> SOURCES ... DEPS ...)    one Catch2 program registered with ctest

# Nearly all of this program is tables and text: they gain nothing from more than -O1, and compile in half the time.
# Folders that compute or parse ask for more (OPTIMIZE); tables of rules, which run once at start, take less.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT DEFINED DD_KEEP_FLAGS)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
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

function(dd_add_library folder)
  cmake_parse_arguments(ARG "OPTIMIZE" "" "DEPS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  foreach(pattern IN LISTS ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  string(REPLACE "/" "_" target "dd_${folder}")
  set(tables ${sources})
  list(FILTER tables INCLUDE REGEX "rules\\.cpp$")
  if(tables)
    set_source_files_properties(${tables} PROPERTIES COMPILE_OPTIONS "-O0")
  endif()
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC dd_options ${ARG_DEPS})
    if(ARG_OPTIMIZE AND NOT DD_SANITIZE)
      target_compile_options(${target} PRIVATE -O2)
    endif()
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE dd_options ${ARG_DEPS})
  endif()
endfunction()

function(dd_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE dd_test_support ${ARG_DEPS})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "DD_SOURCE_DIR=${PROJECT_SOURCE_DIR};DD_BINARY=$<$<TARGET_EXISTS:dispatchdoctor>:$<TARGET_FILE:dispatchdoctor>>"
    LABELS "${ARG_LABELS}")
endfunction()

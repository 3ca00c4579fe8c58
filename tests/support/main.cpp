// Catch2 2.x needs its main compiled once; 3.x brings its own.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#else
namespace dd::test { void main_is_in_catch2() {} }
#endif

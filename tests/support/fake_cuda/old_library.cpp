// A cuBLAS or cuBLASLt of which only the version can be asked.
#include <cstddef>
extern "C" {
int cublasGetProperty(int type, int* value) { return *value = type == 0 ? 13 : 0, 0; }
std::size_t cublasLtGetVersion() { return 130000; }
}

// A libnvidia-ml.so.1 for tests. DD_FAKE_NVML: "fails" (nothing can be asked), "throttled" (power cap and heat), "mig".
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

bool is(const char* what) {
  const char* mode = std::getenv("DD_FAKE_NVML");
  return mode && std::string(mode) == what;
}
int device;

}  // namespace

extern "C" {
int nvmlInit_v2() { return is("fails") ? 9 : 0; }
const char* nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** out) { return std::strcmp(pci, "0000:01:00.0") == 0 ? (*out = &device, 0) : 6; }
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) { return *mhz = type == 2 ? 2619 : 1755, 0; }
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) { return *mhz = type == 2 ? 3201 : 1980, 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) { return *bits = is("throttled") ? 0x4 | 0x20 : 0x1, 0; }
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) { return *celsius = 41, 0; }
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) { return *milliwatts = 120500, 0; }
int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* pending) { return *now = *pending = is("mig") ? 1 : 0, 0; }
int nvmlDeviceGetEccMode(void*, int* now, int* pending) { return *now = *pending = 1, 0; }
int nvmlDeviceGetComputeMode(void*, int* mode) { return *mode = 0, 0; }
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) { return memory[0] = 1ull << 30, memory[1] = 3ull << 28, memory[2] = 1ull << 28, 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) { return std::strncpy(text, "580.65.06", size), 0; }
}

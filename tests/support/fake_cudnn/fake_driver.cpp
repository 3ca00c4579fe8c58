// A libcuda.so.1 that opens and has no device: all that cuDNN wants to find when it is asked about a device given in words.
extern "C" {
int cuInit(unsigned) { return 100; }  // no device
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) { return *count = 0, 0; }
}

#include "backends/cuda_runtime/environment.hpp"

#include <nlohmann/json.hpp>

#include "images.hpp"

namespace dd::cuda {
using facts::Id;
using facts::Provenance;
using facts::Version;

namespace {

Version version_of(const LibraryRecord& r) {
  Version v;
  Version::parse(r.version, v);
  return v;
}

struct Row {
  Library which;
  Id available, version;
};
constexpr Row rows[] = {
    {Library::driver, Id::cuda_driver_available, Id::cuda_driver_version},
    {Library::cublas, Id::cublas_available, Id::cublas_version},
    {Library::cublaslt, Id::cublaslt_available, Id::cublaslt_version},
    {Library::cudnn, Id::cudnn_available, Id::cudnn_version},
    {Library::cupti, Id::cupti_available, Id::cupti_version},
    {Library::nvrtc, Id::nvrtc_available, Id::nvrtc_version},
};

// Devices that the driver offers. cuInit does not create a context; it is cheap and safe without a GPU.
void add_device_count(const LibraryRecord& driver, facts::FactSet& facts) {
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  if (!driver.find(init, "cuInit") || !driver.find(count, "cuDeviceGetCount")) return;
  const int status = init(0);
  int devices = 0;
  if (status == 0) count(&devices);
  facts.set(Id::cuda_device_count, static_cast<std::int64_t>(devices), Provenance::library, "cuDeviceGetCount");
  facts.set(Id::cuda_init_status, static_cast<std::int64_t>(status), Provenance::library, "cuInit");
}

}  // namespace

void add_library_facts(Library which, facts::FactSet& facts) {
  const LibraryRecord& r = library(which);
  for (const Row& row : rows) {
    if (row.which != which) continue;
    facts.set(row.available, static_cast<bool>(r) && !r.stub, Provenance::library, r ? r.path : r.error);
    if (r && !r.version.empty()) facts.set(row.version, version_of(r), Provenance::library, r.path);
  }
  if (which == Library::driver && r) add_device_count(r, facts);
  if (which == Library::nvrtc && r) facts.set(Id::cuda_libraries_version, version_of(r), Provenance::library, r.path);
  // Without NVRTC the file name of cuBLAS still tells the major release.
  if ((which == Library::cublas || which == Library::cublaslt) && !r.built_for.empty() && !facts.known(Id::cuda_libraries_version)) {
    Version major;
    if (Version::parse(r.built_for, major)) facts.set(Id::cuda_libraries_version, major, Provenance::library, r.path);
  }
  if (which == Library::cudnn && r) {
    const CudnnParts parts = cudnn_parts(r);
    facts.set(Id::cudnn_parts_fit, !parts.mixed, Provenance::library, parts.complaint.empty() ? r.path : parts.complaint);
  }
}

namespace {

void add_build_facts(facts::FactSet& facts) {
  facts.set(Id::device_code_built, !kernels::image_architectures().empty(), Provenance::library, "this build");
}

}  // namespace

void add_all_library_facts(facts::FactSet& facts) {
  for (Library which : all_libraries) add_library_facts(which, facts);
  add_build_facts(facts);
}

std::vector<rules::Finding> environment_findings(std::span<const Library> which, bool whole) {
  facts::FactSet facts;
  for (Library one : which) add_library_facts(one, facts);
  if (whole) add_build_facts(facts);
  std::vector<rules::Finding> out;
  for (rules::Finding& f : rules::evaluate_all(environment_rules(), facts))
    if (f.status == rules::Truth::unmet) out.push_back(std::move(f));
  return out;
}

std::vector<rules::Finding> findings_for_a_run() {
  const Library driver[] = {Library::driver};
  auto out = environment_findings(driver, false);
  return out.empty() ? environment_findings(all_libraries, true) : environment_findings(driver, true);
}

std::span<const rules::Rule> environment_rules() {
  using namespace rules;
  static const Source loader = {"search order of this tool for NVIDIA libraries", "0.1", "2026-11-29"};
  static const Source minor = {"CUDA compatibility: a library of CUDA 13.x needs a driver of 13.0 or newer", "13.0", "2026-11-29"};
  static const Source mix = {"cuDNN's own version checks of its parts (cudnnGraphVersionCheck, cudnnOpsVersionCheck)", "9.19", "2026-11-29"};
  static constexpr std::string_view call = "sdpa --q 1x8x256x64 --dtype f16 --causal", product = "gemm --m 256 --n 256 --k 256 --dtype f16";
  static const auto missing = [](std::string_view id, std::string_view name, std::string_view title, Id fact, std::string_view effect,
                                 std::string_view fix, std::string_view example) {
    return Rule{.id = id, .name = name, .title = title, .level = Level::warns, .blame = Blame::build, .scope = "environment",
                .applies = always(), .requires_that = is_true(fact), .effect = effect,
                .fix = {fix, Keeps::function, {Change::change_setting}}, .source = loader, .blocked_example = example, .passing_example = example};
  };
  static const Rule table[] = {
      missing("ENV020", "cuda-driver-missing", "the NVIDIA driver could not be opened", Id::cuda_driver_available,
              "nothing runs on a GPU here; rules and support queries still answer for a GPU that is not here",
              "install the NVIDIA driver, or start the container with its GPU runtime; a toolkit alone brings only a link-time stand-in", call),
      {.id = "ENV021", .name = "cuda-driver-older-than-libraries", .title = "the driver is of an older major CUDA release than the libraries",
       .level = Level::blocks, .blame = Blame::library_version, .scope = "environment", .applies = is_true(Id::cuda_driver_available),
       .requires_that = custom(
           [](const facts::FactSet& f) -> CustomResult {
             const auto* driver = std::get_if<Version>(&f.value(Id::cuda_driver_version));
             const auto* libraries = std::get_if<Version>(&f.value(Id::cuda_libraries_version));
             const std::string required = "driver of the libraries' major release or newer";
             if (!driver || !libraries) return {Truth::unknown, "a version is unknown", required};
             const std::int64_t scale = Version::of(1).code;
             return {driver->code / scale >= libraries->code / scale ? Truth::met : Truth::unmet,
                     "driver for CUDA " + driver->to_text() + ", libraries of CUDA " + libraries->to_text(), required};
           },
           {Id::cuda_driver_version, Id::cuda_libraries_version}),
       .effect = "library calls fail with an insufficient-driver error",
       .fix = {"update the driver, or use libraries of the driver's CUDA release (--lib-dir or --python)", Keeps::function, {Change::change_version}},
       .source = minor, .blocked_example = call, .passing_example = call},
      {.id = "ENV022", .name = "cuda-no-device", .title = "the driver offers no device", .level = Level::blocks, .blame = Blame::hardware,
       .scope = "environment", .applies = is_true(Id::cuda_driver_available), .requires_that = at_least(Id::cuda_device_count, 1),
       .effect = "nothing runs on a GPU here",
       .fix = {"check nvidia-smi, CUDA_VISIBLE_DEVICES and the container's device list", Keeps::function, {Change::change_setting}},
       .source = {"CUDA driver API: cuInit, cuDeviceGetCount", "13.0", "2026-11-29"}, .blocked_example = call, .passing_example = call},
      missing("ENV023", "cublas-missing", "cuBLAS could not be opened", Id::cublas_available, "backends that need cuBLAS are unavailable",
              "install the CUDA libraries, or name their folder with --lib-dir or a Python environment with --python", product),
      missing("ENV024", "cublaslt-missing", "cuBLASLt could not be opened", Id::cublaslt_available,
              "backends that need cuBLASLt are unavailable; cuBLAS itself needs it too",
              "install the CUDA libraries, or name their folder with --lib-dir or a Python environment with --python", product),
      missing("ENV025", "cudnn-missing", "cuDNN could not be opened", Id::cudnn_available, "cuDNN neither runs nor can be asked",
              "install cuDNN 9, or name its folder with --lib-dir or a Python environment with --python", call),
      {.id = "ENV026", .name = "cudnn-parts-mixed", .title = "the parts of cuDNN are of different releases, or one cannot be loaded", .level = Level::blocks,
       .blame = Blame::library_version, .scope = "environment", .applies = is_true(Id::cudnn_available),
       .requires_that = is_true(Id::cudnn_parts_fit), .effect = "cuDNN refuses calls or answers wrongly",
       .fix = {"leave one cuDNN, whole, on the search path: often a system package hides behind a Python wheel", Keeps::function, {Change::change_setting}},
       .source = mix, .blocked_example = call, .passing_example = call},
      missing("ENV027", "cupti-missing", "CUPTI could not be opened", Id::cupti_available,
              "kernels of eager calls are not recorded; captured mode still names those of the graph",
              "install CUPTI (part of the toolkit), or name its folder with --lib-dir", call),
      missing("ENV028", "nvrtc-missing", "NVRTC could not be opened", Id::nvrtc_available,
              "cuDNN cannot compile its runtime kernels, which serve most fused attention",
              "install NVRTC of the same CUDA release as cuDNN was built for", call),
      missing("ENV029", "device-code-missing", "this build has no device code", Id::device_code_built,
              "the backends with kernels of our own are unavailable on a GPU",
              "build with the cuda preset where nvcc is installed", call),
  };
  return table;
}

nlohmann::json library_record_json(Library which) {
  const LibraryRecord& r = library(which);
  nlohmann::json out = {{"name", name_of(which)}, {"available", static_cast<bool>(r)}};
  if (!r.path.empty()) out["path"] = r.path;
  if (!r.version.empty()) out["version"] = r.version;
  if (!r.error.empty()) out["error"] = r.error;
  if (!r.built_for.empty()) out["built_for"] = r.built_for;
  if (r.stub) out["stub"] = true;
  return out;
}

}  // namespace dd::cuda

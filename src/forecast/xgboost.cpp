#include "forecast/xgboost.hpp"

#include <dlfcn.h>

#include <limits>
#include <utility>

#include <fmt/format.h>
#include <xgboost/c_api.h>

namespace evenkeel::forecast {

namespace {
constexpr auto library_name = "libxgboost.so.0";
/// Its threads wait for each other by spinning: where others want the processor too, two take fifty times as long.
constexpr int threads = 1;
}  // namespace

/// The functions used, as the header declares them, and the one model.
struct Xgboost::Library {
  void* handle = nullptr;
  BoosterHandle booster = nullptr;
  decltype(&XGBGetLastError) last_error = nullptr;
  decltype(&XGDMatrixCreateFromMat_omp) matrix_create = nullptr;
  decltype(&XGDMatrixSetFloatInfo) matrix_set = nullptr;
  decltype(&XGDMatrixFree) matrix_free = nullptr;
  decltype(&XGBoosterCreate) booster_create = nullptr;
  decltype(&XGBoosterFree) booster_free = nullptr;
  decltype(&XGBoosterSetParam) booster_set = nullptr;
  decltype(&XGBoosterUpdateOneIter) booster_update = nullptr;
  decltype(&XGBoosterPredict) booster_predict = nullptr;
  decltype(&XGBoosterSaveModelToBuffer) booster_save = nullptr;

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (booster != nullptr) static_cast<void>(booster_free(booster));
    // Never closed: its OpenMP threads would lose their code.
  }

  template <class Function>
  [[nodiscard]] bool find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
  }
  [[nodiscard]] bool find_all() {
    return find("XGBGetLastError", last_error) && find("XGDMatrixCreateFromMat_omp", matrix_create) &&
           find("XGDMatrixSetFloatInfo", matrix_set) && find("XGDMatrixFree", matrix_free) &&
           find("XGBoosterCreate", booster_create) && find("XGBoosterFree", booster_free) &&
           find("XGBoosterSetParam", booster_set) && find("XGBoosterUpdateOneIter", booster_update) &&
           find("XGBoosterPredict", booster_predict) && find("XGBoosterSaveModelToBuffer", booster_save);
  }
  [[nodiscard]] Result<void> check(int status) const {
    if (status == 0) return {};
    return failure(fmt::format("XGBoost: {}", last_error()));
  }

  struct Matrix {
    const Library& library;
    DMatrixHandle handle = nullptr;
    explicit Matrix(const Library& from) : library(from) {}
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;
    ~Matrix() {
      if (handle != nullptr) static_cast<void>(library.matrix_free(handle));
    }
    [[nodiscard]] Result<void> fill(const Samples& samples) {
      return library.check(library.matrix_create(samples.rows.data(), samples.labels.size(), samples.width,
                                                 std::numeric_limits<float>::quiet_NaN(), &handle, threads));
    }
  };
};

Xgboost::Xgboost(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Xgboost::~Xgboost() = default;
Xgboost::Xgboost(Xgboost&&) noexcept = default;
Xgboost& Xgboost::operator=(Xgboost&&) noexcept = default;

Result<Xgboost> Xgboost::load() {
  auto library = std::make_unique<Library>();
  library->handle = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) {
    return failure(fmt::format("training needs {} (Debian: libxgboost0): {}", library_name, dlerror()));
  }
  if (!library->find_all()) return failure(fmt::format("{} lacks a function: {}", library_name, dlerror()));
  return Xgboost(std::move(library));
}

Result<void> Xgboost::fit(const Samples& samples, const BoostingOptions& options) {
  if (samples.labels.empty()) return failure("there is no sample to train with");
  Library& library = *library_;
  if (library.booster != nullptr) static_cast<void>(library.booster_free(std::exchange(library.booster, nullptr)));
  Library::Matrix matrix(library);
  if (auto filled = matrix.fill(samples); !filled) return filled;
  if (auto set =
          library.check(library.matrix_set(matrix.handle, "label", samples.labels.data(), samples.labels.size()));
      !set) {
    return set;
  }
  if (auto made = library.check(library.booster_create(&matrix.handle, 1, &library.booster)); !made) return made;
  const bool logistic = options.link == BoostedTrees::Link::logistic;
  const std::pair<const char*, std::string> parameters[] = {
      {"objective", logistic ? "binary:logistic" : "reg:squarederror"},
      {"max_depth", std::to_string(options.depth)},
      {"eta", fmt::format("{}", options.learning_rate)},
      {"tree_method", "hist"},
      {"nthread", std::to_string(threads)},
      {"verbosity", "0"},
      {"seed", "1"},
  };
  for (const auto& [key, value] : parameters) {
    if (auto set = library.check(library.booster_set(library.booster, key, value.c_str())); !set) return set;
  }
  for (int round = 0; round < options.trees; ++round) {
    if (auto done = library.check(library.booster_update(library.booster, round, matrix.handle)); !done) return done;
  }
  return {};
}

Result<std::vector<float>> Xgboost::predict(const Samples& samples) const {
  const Library& library = *library_;
  Library::Matrix matrix(library);
  if (auto filled = matrix.fill(samples); !filled) return tl::unexpected(filled.error());
  bst_ulong count = 0;
  const float* values = nullptr;
  if (auto done = library.check(library.booster_predict(library.booster, matrix.handle, 0, 0, 0, &count, &values));
      !done) {
    return tl::unexpected(done.error());
  }
  return std::vector<float>(values, values + count);
}

Result<std::string> Xgboost::json() const {
  bst_ulong size = 0;
  const char* text = nullptr;
  if (auto saved = library_->check(library_->booster_save(library_->booster, R"({"format":"json"})", &size, &text));
      !saved) {
    return tl::unexpected(saved.error());
  }
  return std::string(text, size);
}

}  // namespace evenkeel::forecast

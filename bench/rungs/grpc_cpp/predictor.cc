// predictor.proto in C++: libxgboost's C interface, asked in place on one thread, over a Unix socket.
//
//     predictor MODEL CATEGORIES SOCKET
//
// CATEGORIES has a line for each column: its categories in the order of their codes, apart by tabs, or nothing.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "predictor.grpc.pb.h"

// XGBoost's wheel has a library and no headers: these are of its c_api.h.
extern "C" {
typedef void *BoosterHandle;
const char *XGBGetLastError();
int XGBoosterCreate(const BoosterHandle *, uint64_t, BoosterHandle *);
int XGBoosterSetParam(BoosterHandle, const char *, const char *);
int XGBoosterLoadModel(BoosterHandle, const char *);
int XGBoosterPredictFromDense(BoosterHandle, const char *, const char *, BoosterHandle, const uint64_t **,
                              uint64_t *, const float **);
}

namespace {

const char *const kInPlace =
    R"({"type": 0, "iteration_begin": 0, "iteration_end": 0, "strict_shape": false, "cache_id": 0, "missing": NaN})";

void Check(int failed) {
  if (failed) throw std::runtime_error(XGBGetLastError());
}

using Codes = std::unordered_map<std::string, float>;

std::vector<Codes> ReadCategories(const char *path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string(path) + " cannot be read");
  std::vector<Codes> columns;
  for (std::string line; std::getline(file, line);) {
    Codes codes;
    std::istringstream names(line);
    for (std::string name; std::getline(names, name, '\t');) codes.emplace(name, codes.size());
    columns.push_back(std::move(codes));
  }
  return columns;
}

// A row of features that XGBoost reads where it is, with the text that says where.
class Numbers {
 public:
  explicit Numbers(size_t count) : values_(count) {
    char text[160];
    std::snprintf(text, sizeof text,
                  R"({"data": [%llu, true], "shape": [1, %zu], "typestr": "<f4", "version": 3})",
                  static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(values_.data())), count);
    array_ = text;
  }
  float &operator[](size_t at) { return values_[at]; }
  size_t size() const { return values_.size(); }
  const char *array() const { return array_.c_str(); }

 private:
  std::vector<float> values_;
  std::string array_;
};

class Service final : public pgboost::Predictor::Service {
 public:
  Service(const char *model, const char *categories) : columns_(ReadCategories(categories)) {
    Check(XGBoosterCreate(nullptr, 0, &booster_));
    Check(XGBoosterLoadModel(booster_, model));
    Check(XGBoosterSetParam(booster_, "nthread", "1"));
  }

 private:
  using Context = grpc::ServerContext;

  grpc::Status Ping(Context *, const pgboost::Nothing *, pgboost::Nothing *) override {
    return grpc::Status::OK;
  }

  grpc::Status Echo(Context *, const pgboost::Row *row, pgboost::Prediction *answer) override {
    answer->set_value(0.0f * row->values_size());
    return grpc::Status::OK;
  }

  grpc::Status Raw(Context *, const pgboost::Row *row, pgboost::Prediction *answer) override {
    Numbers &features = Mine();
    if (static_cast<size_t>(row->values_size()) != features.size()) return WrongWidth();
    for (size_t i = 0; i < features.size(); ++i) features[i] = Feature(columns_[i], row->values(i));
    return Predict(features, answer);
  }

  grpc::Status Features(Context *, const pgboost::Numbers *given, pgboost::Prediction *answer) override {
    Numbers &features = Mine();
    if (static_cast<size_t>(given->values_size()) != features.size()) return WrongWidth();
    for (size_t i = 0; i < features.size(); ++i) features[i] = given->values(i);
    return Predict(features, answer);
  }

  // Each of gRPC's threads has a row of its own.
  Numbers &Mine() const {
    thread_local Numbers features(columns_.size());
    return features;
  }

  static float Feature(const Codes &codes, const pgboost::Value &value) {
    switch (value.kind_case()) {
      case pgboost::Value::kNumber:
        return value.number();
      case pgboost::Value::kText: {
        auto found = codes.find(value.text());
        return found == codes.end() ? std::nanf("") : found->second;
      }
      default:
        return std::nanf("");
    }
  }

  grpc::Status Predict(const Numbers &features, pgboost::Prediction *answer) const {
    const uint64_t *shape;
    uint64_t dimensions;
    const float *values;
    if (XGBoosterPredictFromDense(booster_, features.array(), kInPlace, nullptr, &shape, &dimensions, &values)) {
      return {grpc::StatusCode::INTERNAL, XGBGetLastError()};
    }
    answer->set_value(values[0]);
    return grpc::Status::OK;
  }

  static grpc::Status WrongWidth() {
    return {grpc::StatusCode::INVALID_ARGUMENT, "a row has another number of values than the model"};
  }

  std::vector<Codes> columns_;
  BoosterHandle booster_ = nullptr;
};

}  // namespace

int main(int count, char **arguments) {
  if (count != 4) {
    std::cerr << "usage: predictor MODEL CATEGORIES SOCKET\n";
    return 2;
  }
  try {
    Service service(arguments[1], arguments[2]);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(std::string("unix:") + arguments[3], grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    auto server = builder.BuildAndStart();
    if (!server) throw std::runtime_error("the socket cannot be listened on");
    server->Wait();
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}

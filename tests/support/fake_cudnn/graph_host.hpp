// Graphs of the stand-in of cuDNN computed on host memory in double: products, pointwise operations and reductions as the
// frontend lowers attention to, and the attention operation of its own. Meaning and shapes are those of cuDNN's
// documentation; nothing of the tool is used here, so a mistake of the tool meets no equal one.
#pragma once
#include <cudnn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../fake_cuda/fake_blas.hpp"

namespace fake_cudnn {

struct Node;
using Ref = std::shared_ptr<Node>;
struct Value {
  cudnnBackendAttributeType_t type{};
  std::int64_t count = 0;
  std::vector<unsigned char> bytes;
  std::vector<Ref> nodes;
};
struct Node {  // what a descriptor holds
  cudnnBackendDescriptorType_t type{};
  bool finalized = false;
  std::map<int, Value> values;
  bool has(int name) const { return values.count(name) > 0; }
  Ref node(int name) const { return has(name) && !values.at(name).nodes.empty() ? values.at(name).nodes.front() : nullptr; }
  template <class T>
  std::vector<T> list(int name) const {
    std::vector<T> out;
    if (!has(name)) return out;
    const Value& v = values.at(name);
    out.resize(v.bytes.size() / sizeof(T));
    std::memcpy(out.data(), v.bytes.data(), out.size() * sizeof(T));
    return out;
  }
  template <class T>
  T one(int name, T otherwise) const {
    if (!has(name) || values.at(name).bytes.size() < sizeof(T)) return otherwise;
    std::memcpy(&otherwise, values.at(name).bytes.data(), sizeof(T));
    return otherwise;
  }
};

using Dims = std::vector<std::int64_t>;

inline int fake_type(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT: return fake::f32;
    case CUDNN_DATA_DOUBLE: return fake::f64;
    case CUDNN_DATA_HALF: return fake::f16;
    case CUDNN_DATA_BFLOAT16: return fake::bf16;
    case CUDNN_DATA_INT32: return fake::s32;
    default: return -1;
  }
}

struct Tensor {
  std::int64_t uid = 0;
  Dims dim, stride;
  cudnnDataType_t type{};
  bool is_virtual = false, by_value = false;
  explicit Tensor(const Node& n)
      : uid(n.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, -1)),
        dim(n.list<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)),
        stride(n.list<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES)),
        type(n.one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT)),
        is_virtual(n.one(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false)),
        by_value(n.one(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false)) {}
  std::int64_t count() const {
    std::int64_t all = 1;
    for (const std::int64_t d : dim) all *= d;
    return all;
  }
};

inline Dims index_of(std::int64_t i, const Dims& dim) {
  Dims at(dim.size());
  for (std::size_t axis = dim.size(); axis-- > 0; i /= dim[axis]) at[axis] = i % dim[axis];
  return at;
}

// A tensor's elements in row-major order of its extents.
struct Array {
  Dims dim;
  std::vector<double> values;
  // Extents of 1 serve every index; fewer heads serve groups of neighbouring ones.
  double at(const Dims& index) const {
    std::int64_t i = 0;
    for (std::size_t axis = 0; axis < dim.size(); ++axis) i = i * dim[axis] + (dim[axis] == 1 ? 0 : index[axis]);
    return values[static_cast<std::size_t>(i)];
  }
};

class Run {
 public:
  explicit Run(std::map<std::int64_t, void*> pointers) : pointers_(std::move(pointers)) {}

  // By-value tensors are read when the call is made, as the library does: their memory need not last.
  void take_values(const std::vector<Ref>& operations) {
    for (const Ref& op : operations)
      for (const auto& [name, value] : op->values)
        for (const Ref& n : value.nodes)
          if (n->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && Tensor(*n).by_value) read(*n);
  }
  void operator()(const std::vector<Ref>& operations) {
    for (const Ref& op : operations) {
      switch (op->type) {
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: product(*op); break;
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: pointwise(*op); break;
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: reduction(*op); break;
        case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR: attention(*op); break;
        default: throw std::logic_error("an operation that the stand-in does not know");
      }
    }
  }

 private:
  const Array& read(const Node& node) {
    const Tensor t(node);
    const auto known = arrays_.find(t.uid);
    if (known != arrays_.end()) return known->second;
    const auto at = pointers_.find(t.uid);
    if (at == pointers_.end() || !at->second) throw std::logic_error("no pointer for tensor " + std::to_string(t.uid));
    Array a{t.dim, std::vector<double>(static_cast<std::size_t>(t.count()))};
    for (std::int64_t i = 0; i < t.count(); ++i) a.values[static_cast<std::size_t>(i)] = fake::load(at->second, fake_type(t.type), place(t, i));
    return arrays_[t.uid] = std::move(a);
  }
  static std::int64_t place(const Tensor& t, std::int64_t i) {
    const Dims index = index_of(i, t.dim);
    std::int64_t out = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) out += index[axis] * t.stride[axis];
    return out;
  }
  template <class F>
  void write(const Node& node, F&& value_at) {
    const Tensor t(node);
    Array a{t.dim, std::vector<double>(static_cast<std::size_t>(t.count()))};
    for (std::int64_t i = 0; i < t.count(); ++i) a.values[static_cast<std::size_t>(i)] = value_at(index_of(i, t.dim));
    if (!t.is_virtual)
      for (std::int64_t i = 0; i < t.count(); ++i) fake::store(pointers_.at(t.uid), fake_type(t.type), place(t, i), a.values[static_cast<std::size_t>(i)]);
    arrays_[t.uid] = std::move(a);
  }
  // The head of a tensor with fewer heads that serves this one.
  static Dims grouped(Dims index, const Dims& own, std::int64_t heads) {
    index[1] = index[1] * own[1] / heads;
    return index;
  }

  void product(const Node& op) {
    const Array &a = read(*op.node(CUDNN_ATTR_OPERATION_MATMUL_ADESC)), &b = read(*op.node(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
    const Node& out = *op.node(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    const std::int64_t heads = Tensor(out).dim[1], depth = a.dim[3];
    write(out, [&](const Dims& at) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) sum += a.at(grouped({at[0], at[1], at[2], k}, a.dim, heads)) * b.at(grouped({at[0], at[1], k, at[3]}, b.dim, heads));
      return sum;
    });
  }

  void pointwise(const Node& op) {
    const Node& how = *op.node(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const auto mode = how.one(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_IDENTITY);
    const auto axis = static_cast<std::size_t>(how.one<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS, 0));
    static const Array none{{}, {}};
    const auto operand = [&](int name) -> const Array& { return op.has(name) ? read(*op.node(name)) : none; };
    // In the order of the header: x, b, and for a selection the tensor that decides.
    const Array &x = operand(CUDNN_ATTR_OPERATION_POINTWISE_XDESC), &b = operand(CUDNN_ATTR_OPERATION_POINTWISE_BDESC), &t = operand(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    write(*op.node(CUDNN_ATTR_OPERATION_POINTWISE_YDESC), [&](const Dims& at) -> double {
      switch (mode) {
        case CUDNN_POINTWISE_IDENTITY: return x.at(at);
        case CUDNN_POINTWISE_ADD: return x.at(at) + b.at(at);
        case CUDNN_POINTWISE_SUB: return x.at(at) - b.at(at);
        case CUDNN_POINTWISE_MUL: return x.at(at) * b.at(at);
        case CUDNN_POINTWISE_DIV: return x.at(at) / b.at(at);
        case CUDNN_POINTWISE_EXP: return std::exp(x.at(at));
        case CUDNN_POINTWISE_LOG: return std::log(x.at(at));
        case CUDNN_POINTWISE_CMP_GE: return x.at(at) >= b.at(at);
        case CUDNN_POINTWISE_CMP_GT: return x.at(at) > b.at(at);
        case CUDNN_POINTWISE_GEN_INDEX: return static_cast<double>(at[axis]);
        case CUDNN_POINTWISE_BINARY_SELECT: return t.at(at) != 0 ? x.at(at) : b.at(at);
        default: throw std::logic_error("a pointwise mode that the stand-in does not know: " + std::to_string(mode));
      }
    });
  }

  void reduction(const Node& op) {
    const auto mode = op.node(CUDNN_ATTR_OPERATION_REDUCTION_DESC)->one(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_REDUCE_TENSOR_ADD);
    const Array& x = read(*op.node(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
    const bool greatest = mode == CUDNN_REDUCE_TENSOR_MAX;
    write(*op.node(CUDNN_ATTR_OPERATION_REDUCTION_YDESC), [&](Dims at) {
      double out = greatest ? -std::numeric_limits<double>::infinity() : 0;
      for (std::int64_t i = 0; i < x.dim[3]; ++i) {
        at[3] = i;
        out = greatest ? std::max(out, x.at(at)) : out + x.at(at);
      }
      return out;
    });
  }

  // The operation that does all at once, as the frontend takes it for calls without mask.
  void attention(const Node& op) {
    const Array &q = read(*op.node(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC)), &k = read(*op.node(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC)),
                &v = read(*op.node(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC));
    const double scale = op.has(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC) ? read(*op.node(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC)).values.front() : 1;
    const std::int64_t heads = q.dim[1], keys = v.dim[2], depth = q.dim[3];
    const auto weights = [&](const Dims& row, double& greatest, double& sum) {
      std::vector<double> w(static_cast<std::size_t>(keys));
      for (std::int64_t j = 0; j < keys; ++j) {
        double dot = 0;
        for (std::int64_t d = 0; d < depth; ++d) dot += q.at({row[0], row[1], row[2], d}) * k.at(grouped({row[0], row[1], j, d}, k.dim, heads));
        w[static_cast<std::size_t>(j)] = dot * scale;
      }
      greatest = *std::max_element(w.begin(), w.end());
      sum = 0;
      for (double& x : w) sum += x = std::exp(x - greatest);
      return w;
    };
    double greatest = 0, sum = 0;
    write(*op.node(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC), [&](const Dims& at) {
      const auto w = weights(at, greatest, sum);
      double out = 0;
      for (std::int64_t j = 0; j < keys; ++j) out += w[static_cast<std::size_t>(j)] / sum * v.at(grouped({at[0], at[1], j, at[3]}, v.dim, heads));
      return out;
    });
    if (!op.has(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC)) return;
    write(*op.node(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC), [&](const Dims& at) {
      weights(at, greatest, sum);
      return greatest + std::log(sum);
    });
  }

  std::map<std::int64_t, void*> pointers_;
  std::map<std::int64_t, Array> arrays_;
};

}  // namespace fake_cudnn

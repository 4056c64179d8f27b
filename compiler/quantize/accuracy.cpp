#include "compiler/quantize/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "compiler/interpret/qgraph_interpreter.hpp"

namespace tessera::compiler {
namespace {

/// Sums over all elements of all samples of one value.
struct Sums {
  double absolute = 0, square = 0, product = 0, real_square = 0, found_square = 0, largest = 0;
  std::int64_t count = 0;

  void add(double real, double found) {
    const double error = found - real;
    absolute += std::fabs(error);
    square += error * error;
    product += real * found;
    real_square += real * real;
    found_square += found * found;
    largest = std::max(largest, std::fabs(real));
    ++count;
  }

  void finish(TensorAccuracy* row) const {
    if (count == 0) return;
    const auto n = static_cast<double>(count);
    row->mae = absolute / n;
    row->mse = square / n;
    row->psnr =
        square > 0 ? 10.0 * std::log10(largest * largest * n / square) : std::numeric_limits<double>::infinity();
    const double norm = std::sqrt(real_square * found_square);
    row->cosine = norm > 0 ? product / norm : (square > 0 ? 0.0 : 1.0);
  }
};

std::string number(double value) {
  if (std::isinf(value)) return "equal";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace

std::vector<TensorAccuracy> measure_accuracy(const Graph& real, const Graph& quantised,
                                             const std::vector<NamedTensors>& samples) {
  const QGraph integer = lower(quantised);
  std::vector<Sums> sums(integer.tensors.size());
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < integer.tensors.size(); ++i) by_name.emplace(integer.tensors[i].name, i);
  for (const NamedTensors& sample : samples) {
    std::vector<Tensor> inputs;
    for (const int index : integer.inputs) {
      const QTensor& as = integer.tensors[static_cast<std::size_t>(index)];
      inputs.push_back(quantize_tensor(as, sample.at(as.name)));
    }
    const std::vector<Tensor> found = interpret_all(integer, inputs, Keep::everything);
    (void)evaluate(real, sample, [&](const std::string& value, const Tensor& tensor) {
      const auto at = by_name.find(value);
      if (at == by_name.end() || tensor.dtype != DType::f32) return;
      const QTensor& as = integer.tensors[at->second];
      if (found[at->second].elements() != tensor.elements()) return;
      const Tensor back = dequantize_tensor(as, found[at->second]);
      if (back.dtype != DType::f32) return;
      for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        sums[at->second].add(static_cast<double>(tensor.data<float>()[i]), static_cast<double>(back.data<float>()[i]));
      }
    });
  }
  std::vector<TensorAccuracy> rows;
  for (std::size_t i = 0; i < integer.tensors.size(); ++i) {
    if (sums[i].count == 0) continue;
    TensorAccuracy row;
    row.name = integer.tensors[i].name;
    const int index = static_cast<int>(i);
    row.output = std::find(integer.outputs.begin(), integer.outputs.end(), index) != integer.outputs.end();
    for (const QNode& node : integer.nodes) {
      if (node.output != index) continue;
      row.node = node.name;
      row.op = node.onnx_op;
    }
    sums[i].finish(&row);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TensorAccuracy& a, const TensorAccuracy& b) { return a.cosine < b.cosine; });
  return rows;
}

std::string accuracy_page(const std::string& model, const std::vector<TensorAccuracy>& rows) {
  std::string page =
      "<!doctype html><meta charset=\"utf-8\"><title>Accuracy of " + escaped(model) +
      "</title><style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:2px 10px;"
      "border-bottom:1px solid #ddd;text-align:right}td.t,th.t{text-align:left}div.b{background:#c44;height:9px}"
      "</style><h1>" +
      escaped(model) + "</h1><p>int8 against float. cosine: of the two tensors; psnr: over the largest magnitude.</p>";
  const auto table = [&](const char* title, bool outputs) {
    page += "<h2>" + std::string(title) +
            "</h2><table><tr><th class=t>value<th class=t>node<th class=t>operator<th>mae<th>mse<th>psnr dB<th>cosine"
            "<th class=t>1 - cosine</tr>\n";
    for (const TensorAccuracy& row : rows) {
      if (outputs && !row.output) continue;
      const double loss = std::clamp(1.0 - row.cosine, 0.0, 1.0);
      page += "<tr><td class=t>" + escaped(row.name) + "<td class=t>" + escaped(row.node) + "<td class=t>" +
              escaped(row.op) + "<td>" + number(row.mae) + "<td>" + number(row.mse) + "<td>" + number(row.psnr) +
              "<td>" + number(row.cosine) + "<td class=t><div class=b style=\"width:" + number(200.0 * loss) +
              "px\"></div></tr>\n";
    }
    page += "</table>\n";
  };
  table("Outputs", true);
  table("All tensors, worst first", false);
  return page;
}

}  // namespace tessera::compiler

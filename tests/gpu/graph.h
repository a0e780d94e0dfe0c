#pragma once

#include <functional>

#include "tests/gpu/gpu.h"

namespace tilewire::test {

/// A CUDA graph of what `record` launches on `stream`, a stream of GPU 0. Captured in the global
/// mode, which forbids most and is PyTorch's default.
class Graph {
 public:
  Graph(cuda::Stream stream, const std::function<void()>& record) {
    const ContextGuard guard(Device::get(0));
    const cuda::Api& api = cuda::api();
    check_cuda(api.stream_begin_capture(stream, cuda::kCaptureModeGlobal), "cuStreamBeginCapture");
    record();
    check_cuda(api.stream_end_capture(stream, &graph_), "cuStreamEndCapture");
    check_cuda(api.graph_instantiate(&executable_, graph_, 0), "cuGraphInstantiate");
  }
  ~Graph() {
    const CleanupScope scope(Device::get(0));
    if (!scope) return;
    cuda::api().graph_exec_destroy(executable_);
    cuda::api().graph_destroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(cuda::Stream stream) const {
    check_cuda(cuda::api().graph_launch(executable_, stream), "cuGraphLaunch");
  }

 private:
  cuda::Graph graph_ = nullptr;
  cuda::GraphExec executable_ = nullptr;
};

}  // namespace tilewire::test

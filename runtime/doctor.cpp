#include "runtime/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <string>

#include "runtime/driver/driver.h"

namespace tilewire {
namespace {

/// `GPU 1 (NVLink: loads, stores, atomics)`.
std::string link_between(int from, int to) {
  const auto attribute = cuda::api().peer_attribute;
  int access = 0;
  int atomics = 0;
  check_cuda(attribute(&access, cuda::kPeerAccess, from, to), "cuDeviceGetP2PAttribute");
  check_cuda(attribute(&atomics, cuda::kPeerNativeAtomics, from, to), "cuDeviceGetP2PAttribute");
  if (access == 0) return fmt::format("GPU {} (out of reach)", to);
  return fmt::format(
      "GPU {} ({})", to,
      atomics != 0 ? "NVLink: loads, stores, atomics" : "PCIe: loads, stores, no atomics");
}

ComponentReport report_gpu(int ordinal, int count) {
  ComponentReport report;
  report.name = fmt::format("GPU {}", ordinal);
  try {
    const Device& device = Device::get(ordinal);
    report.found_path = device.name();
    report.version = device.architecture();
    std::vector<std::string> links;
    for (int other = 0; other < count; ++other) {
      if (other != ordinal) links.push_back(link_between(ordinal, other));
    }
    report.usable_for = fmt::format("{} multiprocessors{}{}", device.num_sms(),
                                    links.empty() ? "" : "; reaches ", fmt::join(links, ", "));
  } catch (const std::exception& error) {
    report.problem = error.what();
  }
  return report;
}

}  // namespace

std::vector<ComponentReport> report_gpus() {
  std::vector<ComponentReport> reports;
  int count = 0;
  try {
    count = Device::count();
  } catch (const std::exception&) {
    return reports;  // the driver's own report says why
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) reports.push_back(report_gpu(ordinal, count));
  return reports;
}

}  // namespace tilewire

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewire {

/// SHA-256 (FIPS 180-4), fed in pieces.
class Sha256 {
 public:
  Sha256& update(std::string_view bytes);
  /// The digest of all that was fed, in lower-case hex. The object is spent afterwards.
  std::string hex_digest();

 private:
  void absorb(const unsigned char* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_{};
  std::uint64_t num_bytes_ = 0;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace tilewire

#include "compiler/support/sha256.h"

#include <string>

#include "tests/catch.h"

// Vectors of FIPS 180-4 and NIST's CAVP.
TEST_CASE("SHA-256 gives the standard's digests", "[sha256]") {
  using tilewire::sha256_hex;
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 doesn't depend on how the bytes are cut", "[sha256]") {
  std::string text;
  for (int i = 0; i < 300; ++i) text.push_back(static_cast<char>(i * 7));
  for (std::size_t length = 0; length <= text.size(); ++length) {
    tilewire::Sha256 pieces;
    for (std::size_t i = 0; i < length; i += 13) {
      pieces.update(std::string_view(text).substr(i, std::min<std::size_t>(13, length - i)));
    }
    REQUIRE(pieces.hex_digest() == tilewire::sha256_hex(text.substr(0, length)));
  }
}

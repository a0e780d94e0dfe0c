#include "compiler/jit/nccl_adapter.h"

#include <algorithm>
#include <string>

#include "compiler/jit/includes.h"
#include "tests/catch.h"

using namespace tilewire;

TEST_CASE("Attributes behind a struct move before its name", "[nccl]") {
  const auto move = move_attributes_before_names;
  CHECK(move("struct S { int a; } __attribute__((packed)) s;") ==
        "struct __attribute__((packed)) S { int a; }  s;");
  CHECK(move("typedef union { struct { char c; } __attribute__((packed)) f; int i; } U;") ==
        "typedef union { struct __attribute__((packed)) { char c; }  f; int i; } U;");
  CHECK(move("struct S { int a; } __attribute__((__packed__)) __attribute__((aligned(8)));") ==
        "struct __attribute__((__packed__)) __attribute__((aligned(8))) S { int a; } ;");
  // Nested ones, each with its own.
  CHECK(move("union A { struct { int x; } __attribute__((packed)) p; } __attribute__((packed));") ==
        "union __attribute__((packed)) A { struct __attribute__((packed)) { int x; }  p; } ;");
}

TEST_CASE("Attributes that stand right already stay", "[nccl]") {
  for (const char* text :
       {"struct __attribute__((packed)) S { int a; };", "void f() { } int x;",
        "__attribute__((noinline)) void f();", "enum E { A } __attribute__((packed));",
        "// struct S { } __attribute__((packed));\nint x;",
        "const char* s = \"struct { } __attribute__((packed))\";"}) {
    CHECK(move_attributes_before_names(text) == text);
  }
  // A brace in a comment is none.
  CHECK(move_attributes_before_names("struct S { /* } */ int a; } __attribute__((packed));") ==
        "struct __attribute__((packed)) S { /* } */ int a; } ;");
}

TEST_CASE("No array can be empty", "[nccl]") {
  CHECK(without_empty_arrays("union { uint16_t part[sizeof(T)/2]; T ret; };") ==
        "union { uint16_t part[(sizeof(T)/2) > 0 ? (sizeof(T)/2) : 1]; T ret; };");
  CHECK(without_empty_arrays("char a[sizeof(T)]; int b[3];") == "char a[sizeof(T)]; int b[3];");
}

TEST_CASE("TYPEOF is no reference", "[nccl]") {
  CHECK(without_reference_types("#define TYPEOF(x) decltype(x)\n") ==
        "#define TYPEOF(x) typeof(x)\n");
  CHECK(without_reference_types("decltype(x) y;") == "decltype(x) y;");
}

TEST_CASE("Include lines are found, and only those", "[nccl]") {
  const std::string text =
      "// include \"no\"\n#define include 1\n  #  include <a/b.h>  // why\n#include \"c.h\"\nint "
      "include;\n";
  const auto first = next_include(text, 0);
  REQUIRE(first);
  CHECK(first->spelled == "a/b.h");
  const auto second = next_include(text, first->end);
  REQUIRE(second);
  CHECK(second->spelled == "c.h");
  CHECK_FALSE(next_include(text, second->end));
}

namespace {

const NcclFiles kFiles = {
    {"nccl.h", "#include <cuda_runtime.h>\n#define NCCL_MAJOR 2\n"},
    {"nccl_device.h", "#error the original is not for NVRTC\n"},
    {"nccl_device/core.h", "#include <nccl.h>\n#include \"utility.h\"\n"},
    {"nccl_device/utility.h", "#include <stdint.h>\n"},
    {"nccl_device/gin.h", "#if __CUDACC__\nstruct Device;\n#endif\n"},
    {"nccl_device/impl/core__types.h", "#include \"../core.h\"\n#include \"../gin.h\"\n"},
    {"nccl_device/impl/gin__funcs.h", "#include \"nccl_device/gin.h\"\n"},
};

const Header* find(const std::vector<Header>& headers, const std::string& name) {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const Header& header) { return header.name == name; });
  return found == headers.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("Includes become paths from the include folder, wherever they stand", "[nccl]") {
  const auto headers = adapt_nccl_headers(kFiles, NcclForm::kFull);
  REQUIRE(find(headers, "nccl_device/core.h"));
  CHECK(find(headers, "nccl_device/core.h")->text ==
        "#include \"nccl.h\"\n#include \"nccl_device/utility.h\"\n");
  CHECK(find(headers, "nccl_device/impl/core__types.h")->text ==
        "#include \"nccl_device/core.h\"\n#include \"nccl_device/gin.h\"\n");
  CHECK(find(headers, "nccl_device/utility.h")->text == "#include <stdint.h>\n");
  REQUIRE(find(headers, "nccl_device.h"));
  CHECK(find(headers, "nccl_device.h")->text.find("#error") == std::string::npos);
}

TEST_CASE("The slim form has of the network only what structs need", "[nccl]") {
  const auto slim = adapt_nccl_headers(kFiles, NcclForm::kSlim);
  CHECK_FALSE(find(slim, "nccl_device/impl/gin__funcs.h"));
  REQUIRE(find(slim, "nccl_device/gin.h"));
  CHECK(find(slim, "nccl_device/gin.h")->text == "#if 0\nstruct Device;\n#endif\n");
  const auto full = adapt_nccl_headers(kFiles, NcclForm::kFull);
  CHECK(find(full, "nccl_device/impl/gin__funcs.h"));
  CHECK(find(full, "nccl_device/gin.h")->text == "#if __CUDACC__\nstruct Device;\n#endif\n");
}

TEST_CASE("Only what a source reaches goes to the compiler, in order of names", "[nccl]") {
  const std::vector<Header> pool = {
      {"b.h", "#include \"a.h\"\n"}, {"a.h", ""}, {"c.h", "#include \"b.h\"\n"}, {"d.h", ""}};
  const auto headers = reachable_headers("#include \"b.h\"\n#include <elsewhere>\n", pool);
  REQUIRE(headers.size() == 2);
  CHECK(headers[0].name == "a.h");
  CHECK(headers[1].name == "b.h");
  CHECK(includes("#include <c.h>", pool, "a.h"));
  CHECK_FALSE(includes("#include <b.h>", pool, "d.h"));
}

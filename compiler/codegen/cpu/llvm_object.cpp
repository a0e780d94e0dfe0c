#include "compiler/codegen/cpu/llvm_object.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// `+avx2,-amx-tile,…`, sorted.
std::string host_features() {
  std::vector<std::string> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  }
  std::sort(features.begin(), features.end(),
            [](const std::string& a, const std::string& b) { return a.substr(1) < b.substr(1); });
  std::string text;
  for (const std::string& feature : features) text += (text.empty() ? "" : ",") + feature;
  return text;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine() {
  static const bool is_initialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  static_cast<void>(is_initialised);
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) throw BackendError("LLVM: no code generator for this machine: " + error);
  // The small code model, since the linker keeps an object's code and constants together and
  // reaches functions by stubs: the large one, LLVM's default here, loads the address of each
  // constant.
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, llvm::sys::getHostCPUName(), host_features(), llvm::TargetOptions(),
      llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, true));
}

/// Whether vectors of 512 bits pay: LLVM prefers 256 for the sake of the first processors with
/// AVX-512, whose clock they slow down. Later ones (from Ice Lake on) have VBMI2.
bool prefers_wide_vectors(llvm::StringRef features) {
  return (features + ",").str().find("+avx512vbmi2,") != std::string::npos;
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions options;
  options.LoopVectorization = true;
  options.SLPVectorization = true;
  llvm::PassBuilder passes(&machine, options);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(call_graph);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, call_graph, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

}  // namespace

std::string compile_llvm_text(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module =
      llvm::parseIR(llvm::MemoryBufferRef(text, "kernel"), diagnostic, context);
  if (module == nullptr) {
    std::string message;
    llvm::raw_string_ostream stream(message);
    diagnostic.print("LLVM", stream, false);
    throw BackendError("LLVM: the generated text can't be read: " + message);
  }
  const std::unique_ptr<llvm::TargetMachine> machine = make_target_machine();
  module->setTargetTriple(machine->getTargetTriple().str());
  module->setDataLayout(machine->createDataLayout());
  const bool is_wide = prefers_wide_vectors(machine->getTargetFeatureString());
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    if (is_wide) function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("target-cpu", machine->getTargetCPU());
    function.addFnAttr("target-features", machine->getTargetFeatureString());
  }
  optimise(*module, *machine);

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emission;
  if (machine->addPassesToEmitFile(emission, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    throw BackendError("LLVM: this machine's code generator writes no object files");
  }
  emission.run(*module);
  return std::string(object.begin(), object.end());
}

std::string llvm_version_and_processor() {
  const char* options = " O3 small-code-model ";  // of this file: what else decides the binary
  return std::string("LLVM ") + LLVM_VERSION_STRING + options + llvm::sys::getHostCPUName().str() +
         " " + host_features();
}

}  // namespace tilewire

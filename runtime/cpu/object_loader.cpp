#include "runtime/cpu/object_loader.h"

#include <llvm/ExecutionEngine/JITLink/EHFrameSupport.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/TargetSelect.h>

#include "compiler/support/error.h"
#include "runtime/cpu/symbols.h"

namespace tilewire {
namespace {

namespace orc = llvm::orc;

[[noreturn]] void fail(const char* call, const std::string& name, const std::string& message) {
  throw BackendError(std::string("LLVM: ") + call + " for `" + name + "` failed: " + message);
}

/// Unwraps what an LLVM function returns.
template <typename T>
T check(llvm::Expected<T> result, const char* call, const std::string& name) {
  if (result) return std::move(*result);
  fail(call, name, llvm::toString(result.takeError()));
}

void check(llvm::Error error, const char* call, const std::string& name) {
  if (error) fail(call, name, llvm::toString(std::move(error)));
}

/// JITLink, with unwind tables registered from within the process: LLVM's default looks the
/// registration function up by name, and this build hides LLVM's names.
llvm::Expected<std::unique_ptr<orc::ObjectLayer>> make_linking_layer(orc::ExecutionSession& session,
                                                                     const llvm::Triple&) {
  auto layer = std::make_unique<orc::ObjectLinkingLayer>(session);
  layer->addPlugin(std::make_shared<orc::EHFrameRegistrationPlugin>(
      session, std::make_unique<llvm::jitlink::InProcessEHFrameRegistrar>()));
  return layer;
}

std::unique_ptr<orc::LLJIT> make_jit(const std::string& name) {
  static const bool is_initialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  static_cast<void>(is_initialised);
  orc::LLJITBuilder builder;
  builder.setPlatformSetUp(orc::setUpInactivePlatform);
  builder.setLinkProcessSymbolsByDefault(false);
  builder.setObjectLinkingLayerCreator(make_linking_layer);
  return check(builder.create(), "LLJIT", name);
}

orc::SymbolMap runtime_symbols(orc::LLJIT& jit) {
  orc::SymbolMap map;
  for (const CpuSymbol& symbol : cpu_symbols()) {
    map[jit.mangleAndIntern(llvm::StringRef(symbol.name.data(), symbol.name.size()))] = {
        orc::ExecutorAddr::fromPtr(symbol.address), llvm::JITSymbolFlags::Exported};
  }
  return map;
}

}  // namespace

LoadedObject load_object(const std::string& object, const std::string& entry,
                         const std::string& name) {
  std::unique_ptr<orc::LLJIT> jit = make_jit(name);
  check(jit->getMainJITDylib().define(orc::absoluteSymbols(runtime_symbols(*jit))),
        "absoluteSymbols", name);
  // The linker's own words; LLVM would print them, and say only "failed to materialize" here.
  std::string log;
  jit->getExecutionSession().setErrorReporter(
      [&log](llvm::Error error) { log += llvm::toString(std::move(error)) + "; "; });
  check(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object, name)), "addObjectFile",
        name);
  llvm::Expected<orc::ExecutorAddr> address = jit->lookup(entry);
  if (!address) fail("lookup", name, log + llvm::toString(address.takeError()));
  jit->getExecutionSession().setErrorReporter(
      [](llvm::Error error) { llvm::consumeError(std::move(error)); });
  return {std::shared_ptr<orc::LLJIT>(std::move(jit)), address->toPtr<void*>()};
}

}  // namespace tilewire

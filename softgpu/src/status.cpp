// The texts of hsa_status_string. HIP prints them ("Queue … aborting with error : HSA_STATUS_ERROR_…: …"), so
// a signature found here is the one that hardware gives.
// https://github.com/ROCm/ROCR-Runtime/blob/rocm-6.2.4/runtime/hsa-runtime/core/runtime/hsa.cpp
// (hsa_status_string)
#include "status.hpp"

#include <cstdlib>
#include <cstring>

#include "abi.hpp"

namespace sg {
namespace {

struct Text {
  uint32_t status;
  const char* name;
  const char* text;  // begins with the name, as the real runtime's do; nullptr where that has none
};

#define T(value, name, words) \
  { value, name, name ": " words }
const Text kTexts[] = {
    T(0x0, "HSA_STATUS_SUCCESS", "The function has been executed successfully."),
    T(0x1, "HSA_STATUS_INFO_BREAK",
      "A traversal over a list of elements has been interrupted by the application before completing."),
    T(0x1000, "HSA_STATUS_ERROR", "A generic error has occurred."),
    T(0x1001, "HSA_STATUS_ERROR_INVALID_ARGUMENT",
      "One of the actual arguments does not meet a precondition stated in the documentation of the "
      "corresponding "
      "formal argument."),
    T(0x1002, "HSA_STATUS_ERROR_INVALID_QUEUE_CREATION", "The requested queue creation is not valid."),
    T(0x1003, "HSA_STATUS_ERROR_INVALID_ALLOCATION", "The requested allocation is not valid."),
    T(0x1004, "HSA_STATUS_ERROR_INVALID_AGENT", "The agent is invalid."),
    T(0x1005, "HSA_STATUS_ERROR_INVALID_REGION", "The memory region is invalid."),
    T(0x1006, "HSA_STATUS_ERROR_INVALID_SIGNAL", "The signal is invalid."),
    T(0x1007, "HSA_STATUS_ERROR_INVALID_QUEUE", "The queue is invalid."),
    T(0x1008, "HSA_STATUS_ERROR_OUT_OF_RESOURCES",
      "The runtime failed to allocate the necessary resources. This error may also occur when the core "
      "runtime "
      "library needs to spawn threads or create internal OS-specific events."),
    T(0x1009, "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT", "The AQL packet is malformed."),
    T(0x100A, "HSA_STATUS_ERROR_RESOURCE_FREE", "An error has been detected while releasing a resource."),
    T(0x100B, "HSA_STATUS_ERROR_NOT_INITIALIZED",
      "An API other than hsa_init has been invoked while the reference count of the HSA runtime is zero."),
    T(0x100C, "HSA_STATUS_ERROR_REFCOUNT_OVERFLOW",
      "The maximum reference count for the object has been reached."),
    T(0x100D, "HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS",
      "The arguments passed to a functions are not compatible."),
    T(0x100E, "HSA_STATUS_ERROR_INVALID_INDEX", "The index is invalid."),
    T(0x100F, "HSA_STATUS_ERROR_INVALID_ISA", "The instruction set architecture is invalid."),
    T(0x1017, "HSA_STATUS_ERROR_INVALID_ISA_NAME", "The instruction set architecture name is invalid."),
    T(0x1010, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT", "The code object is invalid."),
    T(0x1011, "HSA_STATUS_ERROR_INVALID_EXECUTABLE", "The executable is invalid."),
    T(0x1012, "HSA_STATUS_ERROR_FROZEN_EXECUTABLE", "The executable is frozen."),
    T(0x1013, "HSA_STATUS_ERROR_INVALID_SYMBOL_NAME", "There is no symbol with the given name."),
    T(0x1014, "HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED", "The variable is already defined."),
    T(0x1015, "HSA_STATUS_ERROR_VARIABLE_UNDEFINED", "The variable is undefined."),
    T(0x1016, "HSA_STATUS_ERROR_EXCEPTION", "An HSAIL operation resulted in a hardware exception."),
    T(0x1018, "HSA_STATUS_ERROR_INVALID_CODE_SYMBOL", "The code object symbol is invalid."),
    T(0x1019, "HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL", "The executable symbol is invalid."),
    T(0x1020, "HSA_STATUS_ERROR_INVALID_FILE", "The file descriptor is invalid."),
    T(0x1021, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER", "The code object reader is invalid."),
    T(0x1022, "HSA_STATUS_ERROR_INVALID_CACHE", "The cache is invalid."),
    T(0x1023, "HSA_STATUS_ERROR_INVALID_WAVEFRONT", "The wavefront is invalid."),
    T(0x1024, "HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP", "The signal group is invalid."),
    T(0x1025, "HSA_STATUS_ERROR_INVALID_RUNTIME_STATE", "The HSA runtime is not in the configuration state."),
    T(0x1026, "HSA_STATUS_ERROR_FATAL", "The queue received an error that may require process termination."),
    T(40, "HSA_STATUS_ERROR_INVALID_MEMORY_POOL", "The memory pool is invalid."),
    T(41, "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION",
      "The agent attempted to access memory beyond the largest legal address."),
    T(42, "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION",
      "The agent attempted to execute an illegal shader instruction."),
    T(43, "HSA_STATUS_ERROR_MEMORY_FAULT", "Agent attempted to access an inaccessible address."),
    T(44, "HSA_STATUS_CU_MASK_REDUCED",
      "The CU mask was successfully set but the mask attempted to enable a CU "
      "which was disabled for the process.  CUs disabled for the process remain disabled."),
    T(45, "HSA_STATUS_ERROR_OUT_OF_REGISTERS",
      "Kernel has requested more VGPRs than are available on this agent"),
    {46, "HSA_STATUS_ERROR_RESOURCE_BUSY", nullptr},
    {47, "HSA_STATUS_ERROR_NOT_SUPPORTED", nullptr},
    {48, "HSA_STATUS_ERROR_XNACK_DISABLED", nullptr},
    T(49, "HSA_STATUS_ERROR_INVALID_DISPATCH_PARAMETERS",
      "Kernel dispatch packet parameters exceed hardware limits for this agent (e.g. register usage, work-group "
      "dimensions, or other dispatch constraints)"),
    {50, "HSA_STATUS_ERROR_RESOURCE_NOT_READY", nullptr},
    T(0x2000, "HSA_EXT_STATUS_ERROR_INVALID_PROGRAM", "Invalid program"),
    T(0x2001, "HSA_EXT_STATUS_ERROR_INVALID_MODULE", "Invalid module"),
    T(0x2002, "HSA_EXT_STATUS_ERROR_INCOMPATIBLE_MODULE", "Incompatible module"),
    T(0x2003, "HSA_EXT_STATUS_ERROR_MODULE_ALREADY_INCLUDED", "Module already included"),
    T(0x2004, "HSA_EXT_STATUS_ERROR_SYMBOL_MISMATCH", "Symbol mismatch"),
    T(0x2005, "HSA_EXT_STATUS_ERROR_FINALIZATION_FAILED", "Finalization failed"),
    T(0x2006, "HSA_EXT_STATUS_ERROR_DIRECTIVE_MISMATCH", "Directive mismatch"),
    T(0x3000, "HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED", "Image format is not supported."),
    T(0x3001, "HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED", "Image size is not supported."),
    T(0x3002, "HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED", "Image pitch is not supported or invalid."),
    T(0x3003, "HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED",
      "Sampler descriptor is not supported or invalid."),
};
#undef T

}  // namespace

uint32_t status_by_name(const char* text) {
  char* end = nullptr;
  unsigned long number = std::strtoul(text, &end, 0);
  if (end != text && !*end) return static_cast<uint32_t>(number);
  for (const Text& entry : kTexts) {
    if (!std::strcmp(entry.name, text)) return entry.status;
  }
  return 0;
}

}  // namespace sg

SG_API hsa_status_t hsa_status_string(hsa_status_t status, const char** text) {
  if (!text) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (const sg::Text& entry : sg::kTexts) {
    if (entry.status == static_cast<uint32_t>(status) && entry.text) {
      *text = entry.text;
      return HSA_STATUS_SUCCESS;
    }
  }
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

/* nvml.c - finds NVML in the driver, as its programs do: by name, in the loader's path. */
#include "collector/probe/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const char *nvml_text(unsigned ret)
{
	switch (ret) {
	case NVML_NOT_SUPPORTED:
		return "not supported";
	case NVML_NO_PERMISSION:
		return "no permission";
	case NVML_DRIVER_NOT_LOADED:
		return "the driver is not loaded";
	case NVML_FUNCTION_NOT_FOUND:
		return "the driver is too old for it";
	case NVML_GPU_IS_LOST:
		return "the GPU is lost (fallen off the bus)";
	case NVML_RESET_REQUIRED:
		return "the GPU needs a reset";
	case NVML_LIB_RM_VERSION_MISMATCH:
		return "library and kernel module of the driver differ in version (reboot after an "
		       "update)";
	case NVML_ARGUMENT_VERSION_MISMATCH:
		return "the driver knows another version of the call";
	case NVML_NOT_FOUND:
		return "not found";
	default:
		return "error of the driver";
	}
}

static bool symbols(struct nvml *n, const char **missing)
{
#define NVML_MUST(member, symbol, args)                    \
	*missing = #symbol;                                \
	*(void **)&n->member = dlsym(n->library, #symbol); \
	if (!n->member)                                    \
		return false;
#define NVML(member, symbol, args) *(void **)&n->member = dlsym(n->library, #symbol);
#include "collector/probe/nvml.def"
	if (!n->reasons)
		n->reasons = n->reasons_old;
	return true;
}

const struct nvml *nvml_load(char *why, size_t why_len, bool *absent)
{
	static struct nvml nvml;
	const char *missing = "";
	unsigned ret;

	*absent = false;
	if (nvml.library)
		return &nvml;
	nvml.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!nvml.library) {
		*absent = true;
		snprintf(why, why_len,
			 "no driver of NVIDIA is installed (libnvidia-ml.so.1 was not found)");
		return NULL;
	}
	if (!symbols(&nvml, &missing)) {
		snprintf(why, why_len, "the driver is too old: its libnvidia-ml.so.1 lacks %s",
			 missing);
		goto fail;
	}
	ret = nvml.init();
	if (ret != NVML_SUCCESS) {
		*absent = ret == NVML_DRIVER_NOT_LOADED;
		snprintf(why, why_len, "NVML cannot be initialised: %s (code %u)", nvml_text(ret),
			 ret);
		goto fail;
	}
	if (nvml.driver_version)
		nvml.driver_version(nvml.driver, sizeof(nvml.driver));
	nvml.driver[sizeof(nvml.driver) - 1] = '\0';
	return &nvml;
fail:
	nvml.library = NULL; /* stays loaded: unloading it after a failure is not worth a crash */
	return NULL;
}

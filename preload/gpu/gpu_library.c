/* gpu_library.c - which GPU library an object is, by its name. */
#include "preload/gpu/gpu_engine.h"

#include <string.h>

static const struct {
	char soname[16];
	uint32_t flag;
} library_info[SL_GPU_LIBRARY_CNT] = {
#define ONE(id, soname, flag) {soname, flag},
	SL_GPU_LIBRARIES(ONE)
#undef ONE
};

const char *sl_gpu_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

unsigned sl_gpu_library_major(const char *name)
{
	const char *at = strstr(name, ".so.");
	unsigned major = 0;

	for (at = at ? at + 4 : ""; *at >= '0' && *at <= '9' && major < 1000; at++)
		major = major * 10 + (unsigned)(*at - '0');
	return major;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/*
 * "libcudart.so.12", "libcudart.so.12.4.127", and "libcudart-8774224f.so.12" as wheels rename it. Not "libnccl-net.so": a
 * plugin.
 */
static bool is_library(const char *name, const char *soname)
{
	size_t len = strlen(soname) - 3; /* without ".so" */

	if (strncmp(name, soname, len) != 0)
		return false;
	name += len;
	if (*name == '-') {
		for (len = 1; is_hex(name[len]); len++)
			;
		if (len != 9)
			return false;
		name += len;
	}
	return strncmp(name, ".so", 3) == 0 && (!name[3] || name[3] == '.');
}

uint32_t sl_gpu_wanted(void)
{
	const struct sl_session *s = sl_global.session;

	return s->trace | (s->capture_by & SL_CAPTURE_BY_CUDA ? SL_TRACE_CUDA : 0);
}

uint32_t sl_gpu_library_flag(enum sl_gpu_library library)
{
	return library_info[library].flag;
}

int sl_gpu_library_of(const char *name)
{
	uint32_t trace = sl_gpu_wanted();

	for (int i = 0; i < SL_GPU_LIBRARY_CNT; i++)
		if (library_info[i].flag & trace && is_library(name, library_info[i].soname))
			return i;
	return trace & SL_TRACE_MPI && is_library(name, "libmpich.so") ? SL_GPU_mpi : -1;
}

bool sl_gpu_is_companion(const char *name)
{
	static const char names[][16] = {"libtrace.so", "libtrace-cuda", "libcupti.so",
					 "libnvperf_"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

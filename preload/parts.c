/* parts.c - the table of the shim's parts, which core/ walks (part.h). */
#include "preload/core/part.h"
#include "preload/core/slots.h"

#include "preload/gpu/gpu_engine.h"
#include "preload/libc/wrap.h"
#include "preload/python/python_api.h"
#include "preload/python/python_gil.h"

static const struct sl_part parts[] __attribute__((section(SL_PART_SECTION), used)) = {
	/* slots of objects, where this library came late */
	{
		.scan = sl_slots_scan,
		.forked = sl_slots_forked,
	},
	/* GPU libraries */
	{
		.scan = sl_gpu_scan,
		.forked = sl_gpu_forked,
		.flush = sl_gpu_flush,
		.follow = sl_gpu_follow_gate,
	},
	/* Python's modules and its global lock */
	{
		.start = sl_python_start,
		.end = sl_gil_end,
	},
	/* wrappers of the C library */
	{
		.resumed = sl_cwd_invalidate,
	},
};

/*
 * version.c - asks the loaded CUPTI for its version. From CUDA 13.2 on that needs a driver; in 13.2 itself a failure to start
 * is reported by a function that starts CUPTI first, without end, so it may be asked only where it will start.
 */
#include "preload/cupti/guest.h"
#include "preload/cupti/known_bad.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Any of its devices. */
static bool has_gpu(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	return access("/dev/nvidiactl", R_OK | W_OK) == 0 &&
	       (!visible || (*visible && strcmp(visible, "-1") != 0));
}

int version_ask(void)
{
	/* The functions that 13.2 and 13.3 added. */
	guest.version =
		guest.cupti.ActivityGetStructSize && !guest.cupti.GetTimestamp_v2 ? 130200 : 0;
	if (known_bad(BAD_ENDLESS_START) && (find_driver() < 13020 || !has_gpu())) {
		guest.cupti.GetResultString = NULL; /* starts CUPTI, too */
		known_bad_note(BAD_ENDLESS_START);
		return CUPTI_NOT_INITIALIZED;
	}
	return guest.cupti.GetVersion(&guest.version) == CUPTI_OK ? CUPTI_OK
								  : CUPTI_NOT_INITIALIZED;
}

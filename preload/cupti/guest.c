/* guest.c - the state of libtrace-cuda.so. */
#include "preload/cupti/guest.h"

#include "preload/wire/sys.h"

struct guest guest;

bool guest_is_own_process(void)
{
	return guest.pid == sl_getpid();
}

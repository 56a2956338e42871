/*
 * count_hook.c - in each stand-in: what gcc calls at the begin and end of every function (-finstrument-functions).
 * Hidden, as libc exports the same names.
 */
#include "tests/standin/count.h"

#define HOOK __attribute__((visibility("hidden"), no_instrument_function))

HOOK void __cyg_profile_func_enter(void *function, void *site);
HOOK void __cyg_profile_func_exit(void *function, void *site);

HOOK void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	if (standin_counting)
		standin_count_enter(function);
}

HOOK void __cyg_profile_func_exit(void *function, void *site)
{
	(void)site;
	if (standin_counting)
		standin_count_exit(function);
}

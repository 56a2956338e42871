/* sched_names.c - names of system calls, from the kernel's headers (scripts/syscall-names). */
#include <stdio.h>

#include "collector/kernel/sched/sched.h"

#define NUMBERS            1024 /* more than there are: 470 */
#define CALL(number, name) [number] = #name,
static const char *const names[NUMBERS] = {
#include "syscall_names.h"
};
static const char *const names_32[NUMBERS] = {
#include "syscall_names_32.h"
};
#undef CALL

const char *sched_call_name(unsigned number, bool is_compat, char buffer[32])
{
	const char *const *table = is_compat ? names_32 : names;

	if (number < NUMBERS && table[number])
		return table[number];
	snprintf(buffer, 32, "syscall_%u%s", number, is_compat ? "_32bit" : "");
	return buffer;
}

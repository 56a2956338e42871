/* seccomp.h - operation under the program's seccomp filters (enum sl_seccomp), where the shim makes no system calls. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

void sl_seccomp_start(void);
/* Before a filter is installed: evaluates it. Returns the level before, for the function after the call. */
uint32_t sl_seccomp_before(unsigned long mode, const void *filter);
void sl_seccomp_after(uint32_t before, bool failed);
bool sl_seccomp_is_on(void); /* any filter, of a vfork child as well */
bool sl_seccomp_kills_start(void), sl_seccomp_kills_getpid(void); /* that level, or a higher one */
/* Id of this thread; of this process, in the thread of a forked child. 0: unknown. */
uint32_t sl_own_tid(void);
uint32_t sl_forked_pid(void);

#pragma GCC visibility pop

/* seccomp.h - what the shim may still do after the program has installed a seccomp filter. */
#ifndef SL_SECCOMP_H
#define SL_SECCOMP_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

void sl_restricted_start(void);
/* Before a filter is installed: what it is, and what there was, for the call after it: how that went. */
uint32_t sl_restrict(unsigned long mode, const void *filter);
void sl_restricted(uint32_t before, bool failed);
bool sl_is_deadly(void), sl_is_blind(void); /* enum sl_restricted: so much, or worse */
/* Of this thread; of this process, in the one thread that fork() has left it. 0: not to be had. */
uint32_t sl_own_tid(void);
uint32_t sl_forked_pid(void);

#pragma GCC visibility pop
#endif

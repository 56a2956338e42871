/* limits.h - limits that the kernel sets for this process. */
#pragma once

#include <stdbool.h>

/*
 * As many descriptors as the hard limit allows: one per process of the tree, or per thread and CPU, is more than the soft
 * limit (often 1024), which is meant for programs that use select(). Children inherit it: start those before that should
 * keep theirs. True: there is more room than before.
 */
bool limits_raise_descriptors(void);

/* How many more descriptors this process may open. */
unsigned limits_free_descriptors(void);

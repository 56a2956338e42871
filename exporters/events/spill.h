/* spill.h - a file without a name, in the folder that SQLite uses for its own, too. */
#pragma once

#include <stdio.h>

/* NULL: could not be made. It is gone when it is closed. */
FILE *spill_file(void);

/* symbols_serve.h - the process that reads the files of another user for a collector (symbols_apart.h). */
#pragma once

#include <sys/types.h>

/* Gives up the rights of this process for those of @owner, and answers on descriptor 0 until its other end closes. A status. */
int symbols_serve(uid_t owner);

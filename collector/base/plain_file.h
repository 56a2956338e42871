/* plain_file.h - opens files that traced programs name. */
#pragma once

#include <stdbool.h>

struct stat;

/*
 * A descriptor for reading, with @st of it; -1: there is none, or no plain file. Anything else is not even opened: a program may
 * name a device whose opening has an effect (a watchdog, a tape), or a pipe. @follow: its last part may be a link.
 */
int plain_file_open(const char *path, bool follow, struct stat *st);
/*
 * Is it /proc/self/fd/N/NAME: a file in a folder that the process which started this one had opened? It was looked at there, and is
 * no link; one that has taken its place since must not lead elsewhere. plain_file_open() and SQLite follow none.
 */
bool plain_file_is_in_folder(const char *path);
/*
 * Whether both paths lead to the same plain file. Nothing is opened or mounted, and no file server is asked anew about a file that
 * this machine knows.
 */
bool plain_file_is_same(const char *path, const char *other);

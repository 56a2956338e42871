/* session_folder.h - the folder of this process's session, after sl_global.session_env has its variable; that of a parent before. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Length of the folder's path in @variable ("DIR:DEVICE:INODE", both hexadecimal); 0: it is none. */
uint32_t sl_session_parse(const char *variable, uint64_t *device, uint64_t *inode);

/* Where the folder may come from @uid: root, or the program's own user; for programs of root only root. */
bool sl_session_is_of(uint32_t uid);

/*
 * The variable of the nearest ancestor that has this library, whose environment did not reach this process: "" where that one is
 * not traced, or its session is over. NULL: there is none. Static storage.
 */
const char *sl_session_of_parent(void);

/* Whether the folder that stands under the session's name is the session's. 0, or a negative errno. */
long sl_session_check(void);

/*
 * Opens a regular file in the session's folder for reading, of at least @least bytes: those cannot be cut off by another
 * user. The descriptor, or a negative errno.
 */
long sl_session_open(const char *name, uint64_t least);

#pragma GCC visibility pop

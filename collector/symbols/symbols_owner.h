/*
 * symbols_owner.h - whose files this process parses: root's and its user's. Files of other users are read by a process that has
 * their rights (symbols_apart.h), where symbols_apart_by() named its program.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* As plain_file_open(), through links; -1 as well for the file of another user: then symbols_owner_met() returns true. */
int symbols_owner_open(const char *path, struct stat *st);

/* Whether this thread has met a file of another user since symbols_owner_begin(); *owner: of the first one. */
void symbols_owner_begin(void);
bool symbols_owner_met(uid_t *owner);

/* From now on files of other users are refused; before, all are parsed. */
void symbols_owner_refuse(void);
/* Files of this user count as the process's own: it serves them alone. */
void symbols_owner_serve(uid_t owner);

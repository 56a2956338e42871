/* ring_file.h - may memory that another process handed over be mapped as an arena? And the folder of saved rings. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * A memfd whose size can no longer change, as large as an arena may be. Any other file could be cut by its sender, which is
 * a SIGBUS for the process that maps it, or its file system could hold up each access. @st: of @fd.
 */
bool ring_memfd_is_sound(int fd, struct stat *st);
/* A file that a keeper of this user wrote, and that no other user can change. */
bool ring_file_is_sound(int fd, struct stat *st);

/*
 * The folder @name, a path or relative to @at: no link, of this user, for this user alone. @make: it is made where it is
 * missing. The descriptor, or -errno: -EPERM where it is another user's.
 */
int ring_folder_open(int at, const char *name, bool make);

/* "ID-PEER-CLAIMED.ring" */
struct ring_name {
	uint32_t id, peer_pid, claimed_pid;
};
#define RING_NAME_MAX 40
void ring_name_make(const struct ring_name *n, char text[RING_NAME_MAX]);
/* False: @text is not such a name. */
bool ring_name_parse(const char *text, struct ring_name *n);
/* A new file in @folder, in place of one of that name. The descriptor, or -errno. */
int ring_file_make(int folder, const char *name);

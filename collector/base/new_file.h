/* new_file.h - files that stand under their name only when they are whole: written aside, brought to the disk, renamed. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * An empty file beside @path, for writing; *temp: its name, malloc'd. A descriptor, or -errno. Then new_file_place(), or unlink():
 * the file stays where it is, since in its place another user could make a link.
 */
int new_file_open(const char *path, char **temp);
/*
 * Puts it under its name; unless @replace never over a file that came up meanwhile: -EEXIST. 0, or -errno: *temp is still there.
 * Nothing but a plain file, or a link to one, is ever replaced: -EISDIR, -ENOTSUP.
 */
int new_file_place(const char *temp, const char *path, bool replace);
/* The text of such an error. */
const char *new_file_error(int err);
/* A file with @text as @name in an open folder, by way of the name @aside, which may be left of an earlier try. 0, or -errno. */
int new_file_text(int folder, const char *name, const char *aside, const char *text, mode_t mode);

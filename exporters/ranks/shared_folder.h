/* shared_folder.h - folders and files of a dataset that other users may write to: no link is followed, no foreign folder written to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Opens the folder @below ("SL_STEPS/run=R", relative) of the dataset @top, from part to part; @make: parts that are missing are made. Returns a
 * descriptor, or -1 with errno: ENOTDIR or ELOOP where a part is a link or a file; EPERM where a part is not of root, the calling
 * user or the owner of @top, or where any user may write to it and it is not sticky. @top itself may be a link.
 */
int shared_folder_open(const char *top, const char *below, bool make);
/* The same of the folder that the file @path, which begins with @top, lies in; *@name is its last part. */
int shared_folder_of(const char *top, const char *path, bool make, const char **name);
/* Makes the file anew, in place of any file of the name. Descriptor for writing, or -1 with errno. */
int shared_file_create(int folder, const char *name);
/* The text of a plain file of at most @max bytes, malloc'd; its last part is no link. NULL with errno (EFBIG, EINVAL). */
char *shared_file_read(const char *path, size_t max);

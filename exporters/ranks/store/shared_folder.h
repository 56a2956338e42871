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
/* Opens the dataset itself; @make: where it is not there it is made, with the folders above it. Descriptor, or -1 with errno. */
int shared_folder_top(const char *top, bool make);
/* shared_folder_open() in the open dataset, which stays open: one call of the kernel that opens, for any number of parts. */
int shared_folder_at(int top, const char *below, bool make);
/* The same of the folder that the file @path, which begins with @top, lies in; *@name is its last part. */
int shared_folder_of(const char *top, const char *path, bool make, const char **name);
/* Likewise in the open dataset @at, whose path is @top. */
int shared_folder_of_at(int at, const char *top, const char *path, bool make, const char **name);
/* Makes the file anew, in place of any file of the name. Descriptor for writing, or -1 with errno. */
int shared_file_create(int folder, const char *name);
/* The text of a plain file of at most @max bytes, malloc'd; its last part is no link. NULL with errno (EFBIG, EINVAL). */
char *shared_file_read(const char *path, size_t max);

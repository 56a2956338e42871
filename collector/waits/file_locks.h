/* file_locks.h - the process that has a lock on a file which another one waits for. */
#pragma once

#include <stdint.h>

/* The inode behind descriptor @fd of process @pid; 0: not known, as before Linux 5.14. */
uint64_t file_lock_inode(uint32_t pid, unsigned long long fd);
/* The process that has the lock for which @pid waits at @inode, by a list of locks as /proc/locks has it; 0: none. */
uint32_t file_lock_owner_in(const char *list, uint32_t pid, uint64_t inode);
/* The same by the kernel's own list. */
uint32_t file_lock_owner(uint32_t pid, uint64_t inode);

/* proc_numbers.h - folders of /proc whose entries are numbers: processes, threads, descriptors. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

struct proc_numbers {
	DIR *dir; /* NULL: there is none, or it may not be read (errno) */
};

/* Processes; with @folder ("task", "fd") what process @pid has there. To be closed in any case. */
struct proc_numbers proc_numbers_open(uint32_t pid, const char *folder);
/* False: no more. */
bool proc_numbers_next(struct proc_numbers *n, uint32_t *number);
void proc_numbers_close(struct proc_numbers *n);

/*
 * sample_pages.h - what is mapped where a process had a major page fault.
 *
 * Only mappings of code are followed by records; a fault is rare, and the process has just had it: /proc/PID/maps has the rest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sample_pages;

struct sample_page {
	const char *
		path; /* "[heap]" and the like, too; "": memory of no file. Valid until the next call */
	uint64_t offset; /* of the page in the file */
};

struct sample_pages *sample_pages_new(void);
void sample_pages_free(struct sample_pages *sp);
/* False: nothing is known there, as the process is gone, or another user's. */
bool sample_pages_find(struct sample_pages *sp, uint32_t pid, uint64_t address,
		       struct sample_page *page);
/* @pid has another image, or is over. */
void sample_pages_forget(struct sample_pages *sp, uint32_t pid);

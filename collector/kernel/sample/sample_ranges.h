/* sample_ranges.h - a list of mappings by address, which the address spaces of a fork share until one of them changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample_file;

struct sample_range {
	uint64_t from, to;
	uint64_t bias;            /* address - address in the file */
	struct sample_file *file; /* NULL: memory of no file, or data */
	const char *path;         /* "[anonymous]" and the like, too; equal paths are one copy */
	uint64_t device, inode;
	uint64_t offset; /* in the file; 0: memory of no file */
	uint64_t since;  /* CLOCK_MONOTONIC; 0: before we came */
	bool is_moved;   /* code of the file in memory of none */
	bool is_told;    /* the report has it */
};

struct sample_ranges {
	unsigned refs;
	size_t cnt, cap;
	struct sample_range *list; /* by address, none overlaps another */
};

/* @rs may be NULL: an empty list. */
void sample_ranges_release(struct sample_ranges *rs);
struct sample_ranges *sample_ranges_share(struct sample_ranges *rs);
/* The list at @at, no longer shared, with room for @more. NULL: no memory. */
struct sample_ranges *sample_ranges_own(struct sample_ranges **at, size_t more);
/* Puts @r where others were; the parts outside of @r stay. False: the list has it already, or there is no memory. */
bool sample_ranges_put(struct sample_ranges **at, const struct sample_range *r);
/* The mapping at @address; NULL: none. */
struct sample_range *sample_ranges_find(const struct sample_ranges *rs, uint64_t address);

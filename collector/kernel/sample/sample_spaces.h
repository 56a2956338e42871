/*
 * sample_spaces.h - mappings of the sampled processes, and their stacks in the report.
 *
 * Events of processes must arrive in the order of time. A space is the memory of one process image; a fork's is
 * a copy of its parent's. Stacks need mappings of code alone, page faults those of data, too. For mappings that no record reported (processes that ran already,
 * records that were lost) /proc/PID/maps is read, as long as the process exists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/kernel/sample/sample_files.h"
#include "collector/kernel/sample/sample_ranges.h"

struct sample_sink;
struct sample_space;
struct sample_spaces;

struct sample_page {
	const char *path; /* "[heap]" and the like, too; "": memory of no file. Stays */
	uint64_t offset;  /* of the page in the file */
};

/* @stacks: so many are known again, 0: a million. NULL: no memory. */
struct sample_spaces *sample_spaces_new(struct sample_files *files, size_t stacks);
void sample_spaces_free(struct sample_spaces *ss);

void sample_spaces_forked(struct sample_spaces *ss, uint32_t pid, uint32_t parent);
void sample_spaces_execed(struct sample_spaces *ss, uint32_t pid);
void sample_spaces_ended(struct sample_spaces *ss, uint32_t pid);
void sample_spaces_mapped(struct sample_spaces *ss, const struct sample_mapped *what, uint64_t ns);

/* That of a process, read from /proc where no record reported it. NULL: no memory. */
struct sample_space *sample_space_get(struct sample_spaces *ss, uint32_t pid, uint64_t ns);
/* Which code lies at @address; NULL: none that is known. Valid until the next call of any function here. */
const struct sample_range *sample_space_find(struct sample_spaces *ss, struct sample_space *s,
					     uint64_t address, uint64_t ns);
/* A sample of the process is in code without tables, as JITs make it: the list of code made at run time may have to be opened before the process ends. */
void sample_space_jit(struct sample_space *s);
/* Finds the mapping at @address; false: unknown. */
bool sample_space_page(struct sample_spaces *ss, struct sample_space *s, uint64_t address,
		       uint64_t ns, struct sample_page *page);

/*
 * False: the kernel is still at its exec, and @address (where the user's part is) that of the caller of exec, in an image
 * that is gone.
 */
bool sample_space_has_begun(struct sample_spaces *ss, struct sample_space *s, uint64_t address,
			    uint64_t ns);

/* Number of the stack (SL_STACKS.id), which @sink has from here on. */
int64_t sample_space_stack(struct sample_spaces *ss, struct sample_space *s,
			   const struct sample_sink *sink, uint64_t ns, const uint64_t *frames,
			   size_t cnt);
/* Another sink: it has no stacks yet. */
void sample_spaces_renew(struct sample_spaces *ss);
/* Memory by which stacks are known again. */
size_t sample_spaces_bytes(const struct sample_spaces *ss);

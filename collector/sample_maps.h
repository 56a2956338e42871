/*
 * sample_maps.h - what lies at the addresses of a stack: the mapped file, as /proc/PID/maps has it; in the kernel the
 * function, too, where /proc/kallsyms tells.
 */
#ifndef SL_SAMPLE_MAPS_H
#define SL_SAMPLE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct db;
struct sample_maps;

struct sample_frame {
	int64_t symbol, module; /* StringIds.id */
	bool is_address;        /* the symbol is the address as text */
};

struct sample_maps *sample_maps_new(void); /* NULL: no memory */
void sample_maps_free(struct sample_maps *m);

struct sample_frame sample_maps_find(struct sample_maps *m, struct db *db, uint32_t pid,
				     uint64_t ip, bool is_kernel);

/* @pid is a copy of @parent until it execs; it runs another program; it is over. To be told in the order of time. */
void sample_maps_forked(struct sample_maps *m, uint32_t pid, uint32_t parent);
void sample_maps_execed(struct sample_maps *m, uint32_t pid);
void sample_maps_ended(struct sample_maps *m, uint32_t pid);

#endif

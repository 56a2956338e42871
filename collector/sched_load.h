/* sched_load.h - brings bpf/ctxsw.bpf.c into the kernel; for sched_bpf.c alone. */
#ifndef SL_SCHED_LOAD_H
#define SL_SCHED_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/bpf/ctxsw.h"

#define PROGRAM_CNT 7

struct ctxsw_ask {
	struct ctxsw_config config;      /* state_argument is found out */
	unsigned rings, switches, lives; /* sizes of the maps: entries, entries, bytes */
	unsigned skip; /* how many of the ways of loading to leave out, for tests */
};

struct ctxsw_loaded {
	int lives, rings, switches, flags, shared; /* descriptors of the maps */
	int iterator;                              /* descriptor of the link */
	struct ctxsw_light *light;                 /* one of these two */
	struct bpf_object *object;
	struct bpf_link *links[PROGRAM_CNT], *iterator_link;
};

/* 0, or -errno, and libbpf's first complaint (may be "") in @log. */
int ctxsw_load(struct ctxsw_loaded *l, const struct ctxsw_ask *ask, char *log, size_t log_len);
/* First the iterator, because the programs use what it finds out; then they. 0 or -errno. */
int ctxsw_attach_iterator(struct ctxsw_loaded *l);
int ctxsw_attach(struct ctxsw_loaded *l);
void ctxsw_detach(struct ctxsw_loaded *l); /* the programs; the iterator stays */
void ctxsw_unload(struct ctxsw_loaded *l);

#endif

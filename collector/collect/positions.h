/*
 * positions.h - layout of the collector's state in SL_STATE. Private to one build: recover of another version refuses
 * it (saved_session.version).
 */
#pragma once

#include <stdint.h>

#include "preload/wire/wire.h"

/* Key "position". */
struct saved_session {
	uint32_t file_ids, last_id;
	int64_t uses;
	uint64_t ticks; /* of the newest snapshot */
	int64_t ns;     /* its session time */
};

/* Key "arena.N": this, then the images, then the threads. */
struct saved_arena {
	uint32_t id, peer_pid, is_foreign, images, threads, pad;
	uint64_t unslotted_written;
};
struct saved_image {
	uint32_t number, pid, ns_pid, is_named;
	int64_t start_ns;
};
struct saved_thread {
	uint32_t slot, instance, seq, pos, is_over, tid;
	int64_t use;
	uint64_t lost_written, nested_written, lost_of_written[SL_LOST_KINDS];
};

/* Key "files.N": these, each followed by its name. Unaligned. */
struct saved_file {
	uint32_t number, serial, id, has_row, len;
};

/* Key "session": where things stand, for recover. */
struct saved_setup {
	uint32_t version; /* SAVED_VERSION */
	uint32_t root_pid;
	int64_t zero_mono, zero_real;
	char boot_id[40];
	char dir[96]; /* session directory */
	uint32_t clock_mode, file_access;
	uint32_t no_osrt, from_kernel; /* FROM_KERNEL_* of source/event_source.h */
	uint32_t mask;                 /* enum mask_mode */
	uint32_t reserved;
};
#define SAVED_VERSION 4u

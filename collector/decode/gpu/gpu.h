/*
 * gpu.h - calls into GPU libraries and the GPU's work: from records to rows.
 *
 * Two records describe a call: the hook's (SL_SHAPE_API, at once) and CUPTI's (SL_GPU_REC_API, a flush later). Rows wait
 * for both, so that each call is one row with the correlation id that its kernels and copies carry; ids are made unique
 * in the report. Where CUPTI reports nothing (not there, killed) the hook's record suffices.
 *
 * The files, in the order in which a record passes them:
 *   gpu_records.c  queues calls of hooks and records of CUPTI, by thread and process
 *   gpu_process.c  these processes and threads, and their queues
 *   gpu.c          decides each tick which records have waited long enough
 *   gpu_match.c    matches records of one call, and finds which calls are nested
 *   gpu_calls.c    writes rows of calls
 *   gpu_ids.c      their ids, for which work of the GPU has CUPTI's correlation ids
 *   gpu_captured.c drops work that was launched outside of captures
 *   gpu_lent.c     times in which the program used CUPTI itself, and calls of those times
 *   gpu_lent_graphs.c  launches of graphs that were instantiated in such a time
 *   gpu_work.c     writes rows of kernels, copies and other work of the GPU
 *   gpu_memory.c   writes rows of its memory
 *   gpu_nccl.c     names communicators of NCCL, the same on all ranks
 *   gpu_mpi.c      rows of MPI
 *   gpu_numbers.c  TARGET_INFO_GPU.id
 *   gpu_targets.c  writes rows of devices, contexts, streams
 *   gpu_streams.c  names of streams
 *   gpu_names.c    names of kernels and functions
 *   gpu_pending.c  keeps a log of waiting records; gpu_log.h: its format
 *   gpu_recover.c  reads that log after a crash
 *   gpu_rotate.c   adapts times when another report begins
 */
#pragma once

#include "collector/model/arena.h"
#include "preload/wire/gpu.h"

extern const struct record_family gpu_records;

struct gpu_seen; /* source/recording.h */

/*
 * TARGET_INFO_GPU.id of the GPU with this UUID. Its first caller gives it @index, or the next one that is free; -1: all are
 * given.
 */
int64_t gpu_number(struct arenas *as, const uint8_t uuid[16], uint32_t index);
/* Writes the row of the GPU @id, which a process that uses the GPU completes. */
void gpu_seen_write(struct arenas *as, int64_t id, const struct gpu_seen *seen);

/* SL_SHAPE_API and SL_SHAPE_GPU. */
void gpu_call(struct arenas *as, struct thread *t, const struct call *c);
void gpu_record(struct arenas *as, struct thread *t, const struct call *c);

/* A process of the arena named the stream with this handle. */
void gpu_stream_named(struct arena *a, uint32_t number, uint64_t handle, int64_t ns,
		      const char *name);

/* Once per tick, after the rings are drained: writes rows that need not wait. @all: all; session or arena ends. */
void gpu_settle(struct arenas *as, struct arena *a, bool all);
/* Whether CUPTI has reported all that ended before @ns (session time), in each process in which it is on. */
bool gpu_has_reported(const struct arena *a, int64_t ns);
/* Session time 0 moves by so many ns, and a new report begins. After gpu_settle() of all. */
void gpu_shift(struct arena *a, int64_t shift);
/* Another report begins: ids of its calls begin anew where the one before had very many. */
void gpu_ids_renew(struct arenas *as);
/* Frees struct arena.gpu. */
void gpu_release(struct arenas *as, struct arena *a);

/* Logs waiting records in the open transaction, for recover; reads them back. */
int gpu_save(struct arenas *as, struct arena *a);
void gpu_restore(struct arenas *as, struct arena *a);

struct gpu_function {
	const char *name;
	uint8_t library; /* enum sl_gpu_library */
	uint8_t uses;
	uint8_t role[SL_GPU_ARGS];
	bool is_pointer[SL_GPU_ARGS];
	bool is_count; /* returns bytes, or an error below 0 */
	bool starts_work;
	uint8_t of_graph; /* enum gpu_of_graph */
	uint32_t canon;
};
/* @number below SL_GPU_FUNCTION_CNT. */
const struct gpu_function *gpu_function(unsigned number);

/* Bytes of the payload of a record of the kind (enum sl_gpu_record); 0: no record of work. */
size_t gpu_work_size(unsigned kind);

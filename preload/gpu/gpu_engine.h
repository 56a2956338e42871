/*
 * gpu_engine.h - internal interface of the GPU part, which intercepts and records calls of GPU libraries.
 *
 *   gpu_library.c  which library an object is
 *   gpu_bind.c     finds the libraries, redirects the references of all loaded objects to entries
 *   gpu_place.c    locations of each function's arguments, by the processor's ABI
 *   gpu_dlsym.c    returns entries from dlsym, cuGetProcAddress and the like
 *   gpu_entry.c    the entries: one forwarder in assembly for all functions, and the record of a call
 *   gpu_comms.c    communicators of NCCL and MPI, also while nothing is recorded
 *   gpu_mpi.c      MPI's handles, by its two ABIs
 *   gpu_profiler.c calls that begin and end a capture
 *   gpu_cupti.c    loads libtrace-cuda.so, records for it
 *   gpu_worker.c   flushes it, makes it follow the gate, stops it before the process ends
 *   gpu_yield.c    intercepts a program's own use of CUPTI, which is lent to it
 *   gpu_owner.c    which of the two uses CUPTI
 *
 * No function of these libraries is exported by name: a program without them, or with weak references to them, must find
 * them missing. So only references that lead to the real function are redirected, once it is loaded.
 */
#pragma once

#include "preload/wire/gpu.h"
#include "preload/core/hook.h"

#pragma GCC visibility push(hidden)

/* How the recorded value is derived from an argument word. */
enum sl_gpu_how {
	SL_GPU_HOW_WORD,    /* all 64 bits */
	SL_GPU_HOW_LOW,     /* 32 bits */
	SL_GPU_HOW_HIGH,    /* the upper 32 */
	SL_GPU_HOW_AT,      /* the word it points to, after success */
	SL_GPU_HOW_INT_AT,  /* the int it points to, after success */
	SL_GPU_HOW_SUM,     /* the sum of words in an array that it points to, after success */
	SL_GPU_HOW_HASH,    /* hash of a structure that is passed by value, on the stack */
	SL_GPU_HOW_HASH_AT, /* hash of the structure it points to, after success */
	SL_GPU_HOW_TYPE,    /* size of MPI's datatype; its 32 bits where handles have so many */
};
/* Meaning of a function's return value. */
enum sl_gpu_returns {
	SL_GPU_RETURNS_STATUS,
	SL_GPU_RETURNS_COUNT, /* bytes, or an error below 0 */
	SL_GPU_RETURNS_OTHER, /* nothing, a floating point number, an address: never an error */
};
struct sl_gpu_arg {
	uint8_t where;  /* 0.. integer registers, then words of the stack from SL_GPU_STACK on */
	uint8_t how;    /* enum sl_gpu_how */
	uint8_t offset; /* from the address in the argument, for _AT, _INT_AT and _SUM */
	uint8_t step; /* size of the array's elements; their number is the argument recorded before. Bytes to be hashed */
};
/* What a function does to a communicator of NCCL or MPI, and which words of its record say to which one. */
enum sl_gpu_comm_kind {
	SL_GPU_COMM_NONE = 0,
	SL_GPU_COMM_MADE,
	SL_GPU_COMM_SPLIT, /* off another one; shrunk, grown */
	SL_GPU_COMM_ENDED,
	SL_GPU_COMM_COLLECTIVE,
	SL_GPU_COMM_SEND,
	SL_GPU_COMM_RECEIVE,
};
enum sl_gpu_comm_word {
	SL_GPU_COMM_WORD_COMM,
	SL_GPU_COMM_WORD_MADE,
	SL_GPU_COMM_WORD_UNIQUE,
	SL_GPU_COMM_WORD_RANKS,
	SL_GPU_COMM_WORD_RANK,
	SL_GPU_COMM_WORD_COLOR,
	SL_GPU_COMM_WORD_PEER,
	SL_GPU_COMM_WORDS
};
struct sl_gpu_comm_use {
	uint8_t kind;                    /* enum sl_gpu_comm_kind */
	uint8_t word[SL_GPU_COMM_WORDS]; /* place in the record; UINT8_MAX: none */
	bool is_mpi;
	uint8_t config; /* where the address of its ncclConfig_t is, as sl_gpu_arg.where; UINT8_MAX: it has none */
};
#define SL_GPU_STACK     16u
#define SL_GPU_ENTRY_MAX 4096 /* number of entries; a plain number, as the assembler reads it */

/* State of a function. In memory that is allocated only in processes with a GPU library. */
struct sl_gpu_function_state {
	void *real;
	uint16_t family;  /* one bit; a call nested in a call of the same family is not recorded */
	uint8_t arg_cnt;  /* words in the record */
	uint8_t is_cuda;  /* runtime or driver */
	uint8_t is_quiet; /* known, but not recorded */
	uint8_t returns;  /* enum sl_gpu_returns */
	uint64_t stack_ticks; /* calls as long as this get a stack; UINT64_MAX: none do */
	struct sl_gpu_comm_use comm;
	struct sl_gpu_arg arg[SL_GPU_ARGS];
};
extern struct sl_gpu_function_state *sl_gpu_state; /* by function number; NULL: nothing is bound */

/* Read by the assembly, by function number. */
extern uint8_t sl_gpu_stack_words
	[SL_GPU_FUNCTION_CNT]; /* arguments on the stack; bit 7: SSE registers too */
#define SL_GPU_SSE 128u

/* The entry of a function, to which references are redirected. */
void *sl_gpu_entry(unsigned number);

/* ---- gpu_bind.c ---- */

/* Binds libraries and redirects references of objects loaded since the last scan. Cheap if there are none. */
void sl_gpu_scan(void);
/* The same, and waits for another thread that is scanning: the program gets functions of these objects next. Bounded. */
void sl_gpu_scan_all(void);
/* Makes this thread's next traced call scan: for objects whose loading is not intercepted, or whose constructors run. */
void sl_gpu_scan_soon(void);
/* In a forked child, which has one thread. */
void sl_gpu_forked(void);
extern struct sl_gpu_seen {
	uint32_t bound;    /* libraries, a bit for each enum sl_gpu_library */
	const char *cupti; /* path of a loaded libcupti, NULL none */
} sl_gpu_seen;
/* Number of the function whose real address this is, -1: none. */
int sl_gpu_by_address(const void *real);
/* Whether @code is in one of the tracer's own libraries, in CUPTI, or (@and_bound) in a bound library. */
bool sl_gpu_is_inside(const void *code, bool and_bound);

/* ---- gpu_library.c ---- */

const char *sl_gpu_base_name(const char *path);
/* "libcudart.so.11.0" -> 11, "libcudart-8774224f.so.12" -> 12; 0: no version in the name. */
unsigned sl_gpu_library_major(const char *name);
/* Libraries to bind: SL_TRACE_*. CUDA also where its calls are not recorded, but may begin and end a capture. */
uint32_t sl_gpu_wanted(void);
uint32_t sl_gpu_library_flag(enum sl_gpu_library library); /* SL_TRACE_* */
/* By a file's name or a soname; -1: none that is wanted. */
int sl_gpu_library_of(const char *name);
/* A library of the tracer, or of CUPTI. */
bool sl_gpu_is_companion(const char *name);

/* ---- gpu_place.c ---- */

struct sl_gpu_line;
/* Fills in the fields of @f that depend on its line; false: its arguments cannot be passed on. @stack_words: as above. */
bool sl_gpu_place(const struct sl_gpu_line *line, struct sl_gpu_function_state *f,
		  uint8_t *stack_words);

/* ---- gpu_comms.c ---- */

struct sl_gpu_use;
/* Fills in all but the config. @use: what is recorded of the arguments of NCCL's function @name. */
void sl_gpu_comm_place(const char *name, const struct sl_gpu_use *use, int cnt,
		       struct sl_gpu_comm_use *to);
/* NCCL is loaded. */
void sl_gpu_comms_open(void);
/* ncclInProgress: a communicator that does not block is there, and not ready. */
#define SL_GPU_COMM_IN_PROGRESS 7u
/* A call that has returned, with success or with that. */
struct sl_gpu_comm_call {
	const struct sl_gpu_comm_use *use; /* its kind is not NONE */
	const uint64_t *word;              /* those of its record */
	uint64_t config;                   /* address, 0: none */
	uint64_t start;                    /* ticks; 0 where it is not recorded */
	uint32_t result;
	bool is_recorded; /* the thread may write records */
	void (*put)(unsigned kind, const void *payload, size_t bytes); /* sl_gpu_put_record() */
	int (*count)(void *comm, int *ranks); /* ncclCommCount(), NULL: there is none */
	int (*own)(void *comm, int *rank);    /* ncclCommUserRank() */
};
/* The number of a collective on its communicator, of a send or receive among those with its peer, from 1 on; 0: not known. */
uint64_t sl_gpu_comm_called(const struct sl_gpu_comm_call *c);

/* ---- gpu_mpi.c ---- */

struct sl_object;
/* The library with these functions is bound. False: an ABI that is not known. */
bool sl_gpu_mpi_open(const struct sl_object *o, unsigned major);
/* Whether handles are ints: MPICH's. */
bool sl_gpu_mpi_is_int(void);
bool sl_gpu_mpi_is_world(uint64_t comm);
uint64_t sl_gpu_mpi_world(void);
bool sl_gpu_mpi_is_null(uint64_t comm);
/* 0: not known. */
uint64_t sl_gpu_mpi_type_bytes(uint64_t type);
/* Of a communicator on which a call has just succeeded. */
bool sl_gpu_mpi_ranks(uint64_t comm, int *ranks, int *rank);
int sl_gpu_mpi_root(uint64_t comm);

/* ---- gpu_profiler.c ---- */

/* The wrapper of cudaProfilerStart and the like, used instead of @number's entry; NULL: no such function. */
void *sl_gpu_profiler(unsigned number);

/* ---- gpu_dlsym.c ---- */

/* The hand-written wrapper used instead of @number's entry, for functions that return functions; NULL: none. */
void *sl_gpu_special(unsigned number);

/* ---- gpu_yield.c ---- */

struct sl_cuda_client;
/* Registers the functions of libcupti by which a program uses it. False: a libcupti is registered already. */
bool sl_gpu_cupti_found(const struct sl_object *o);
/* The wrapper of such a function, by name (with the real one) or by the real one; NULL: no such function. */
void *sl_gpu_yield_entry(const char *name, void **real);
void *sl_gpu_yield_entry_of(const void *real);
/* The program uses CUPTI itself, until it has ended that and is forgotten. */
bool sl_gpu_has_client(void);
bool sl_gpu_client_has_ended(void);
void sl_gpu_forget_client(void);
const struct sl_cuda_client *sl_gpu_client(void);
/* Passes a buffer of the program's on to it. */
void sl_gpu_client_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			  size_t valid);

/* ---- gpu_cupti.c ---- */

enum sl_gpu_cupti {
	SL_GPU_CUPTI_NOT_YET = 0,
	SL_GPU_CUPTI_LOADING,
	SL_GPU_CUPTI_LOADED, /* the first call has not returned */
	SL_GPU_CUPTI_DONE,   /* or not wanted */
};
extern uint32_t sl_gpu_cupti_state; /* enum sl_gpu_cupti */
extern uint32_t sl_gpu_cupti_gate;  /* the gate as CUPTI knows it */
/* Writes a record of SL_SHAPE_GPU (enum sl_gpu_record), whose loss is counted. */
void sl_gpu_put_record(unsigned kind, const void *payload, size_t bytes);
/* Before a process's first CUDA call, and after it. */
void sl_gpu_start_cupti(void);
void sl_gpu_after_first_call(void);
/* After a cuInit() that is no call of the program. */
void sl_gpu_after_init(void);
extern uint32_t sl_gpu_is_initialized; /* by sl_gpu_after_init() */

/* ---- gpu_owner.c ---- */

/* CUPTI is about to be set up for the shim, by this thread. False: it is the program's, or the shim's already. */
bool sl_gpu_owner_start(void);
void sl_gpu_owner_started(bool ok);
/* The shim's CUPTI is about to be lent, by this thread. False: it is not the shim's. */
bool sl_gpu_owner_lend(void);
void sl_gpu_owner_lent(void);
/* While another thread sets it up or lends it. Bounded. */
void sl_gpu_owner_wait(void);
/* The program is about to begin: false, it has CUPTI now; true, it must be lent. Waits as above. */
bool sl_gpu_owner_is_shim(void);
bool sl_gpu_cupti_runs(void); /* it records for the shim */
/* In a forked child. */
void sl_gpu_owner_forked(void);

/* ---- gpu_worker.c ---- */

/* Makes CUPTI record if and only if the gate is open, and takes it back from a program that has ended its use. */
void sl_gpu_follow_gate(void);
/* Makes CUPTI deliver its buffered records. */
void sl_gpu_flush(void);
/* Makes the next call into a GPU library call sl_gpu_follow_gate(), as the program has ended its use of CUPTI. */
void sl_gpu_look_soon(void);
/* Lends CUPTI to the program, if it is not lent already. */
void sl_gpu_yield(void);
/* Takes a buffer that comes while CUPTI is lent. False: it is the program's. */
bool sl_gpu_take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			size_t valid);
bool sl_gpu_owns_buffer(const uint8_t *buffer);
/* False: the program's value of this attribute is to be set at once. */
bool sl_gpu_keep_attribute(int attribute, size_t bytes, const void *value);
/* Around a fork: no thread of the tracer is inside CUPTI. Bounded. False: nothing to do afterwards. */
bool sl_gpu_before_fork(void);
void sl_gpu_after_fork(void); /* in the parent */
/* In a forked child. */
void sl_gpu_cupti_forked(void);

/* How this process's program ends, which CUPTI does not notice by itself: a last flush, bounded. */
enum sl_gpu_end {
	SL_GPU_END_EXIT, /* in a handler of exit() */
	SL_GPU_END_NOW,  /* _exit() */
	SL_GPU_END_EXEC, /* which may fail: CUPTI goes on */
};
void sl_gpu_end(enum sl_gpu_end how);

#pragma GCC visibility pop

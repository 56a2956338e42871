/*
 * gpu_engine.h - inside of the GPU half of the shim: how calls of GPU libraries are caught and recorded.
 *
 *   gpu_bind.c     finds the libraries, points the references of all loaded objects at our entries
 *   gpu_place.c    knows how each function takes its arguments
 *   gpu_dlsym.c    hands our entries out: dlsym, cuGetProcAddress and the like
 *   gpu_entry.c    the entries: one forwarder in assembly for all functions, and what it records
 *   gpu_profiler.c the calls that begin and end a capture
 *   gpu_cupti.c    loads libtrace-cuda.so, serves it
 *
 * Nothing of these libraries is exported by name: a program that does not have them, or has weak references to them,
 * must find them missing. So only references that lead to the real function are changed, once it is there.
 */
#ifndef SL_GPU_ENGINE_H
#define SL_GPU_ENGINE_H

#include "preload/wire/gpu.h"
#include "preload/core/hook.h"

#pragma GCC visibility push(hidden)

/* Where a word is when the function is entered, and what of it is recorded. */
enum sl_gpu_how {
	SL_GPU_HOW_WORD,   /* all 64 bits */
	SL_GPU_HOW_LOW,    /* 32 bits */
	SL_GPU_HOW_HIGH,   /* the upper 32 */
	SL_GPU_HOW_AT,     /* the word it points to, after success */
	SL_GPU_HOW_INT_AT, /* the int it points to, after success */
	SL_GPU_HOW_SUM,    /* the sum of words in an array that it points to, after success */
};
/* What a function returns. */
enum sl_gpu_returns {
	SL_GPU_RETURNS_STATUS,
	SL_GPU_RETURNS_COUNT, /* bytes, or an error below 0 */
	SL_GPU_RETURNS_OTHER, /* nothing, a floating point number, an address: never an error */
};
struct sl_gpu_arg {
	uint8_t where;  /* 0.. integer registers, then words of the stack from SL_GPU_STACK on */
	uint8_t how;    /* enum sl_gpu_how */
	uint8_t offset; /* from where the argument points to, for the hows that read there */
	uint8_t step;   /* size of the array's elements; their number is the word before */
};
#define SL_GPU_STACK     16u
#define SL_GPU_ENTRY_MAX 4096 /* entries made; a plain number, the assembler reads it */

/* A function of a library that is bound. Made at that time, in memory that other processes never touch. */
struct sl_gpu_function_state {
	void *real;
	uint8_t family;       /* one bit: calls inside calls of one family are not recorded */
	uint8_t arg_cnt;      /* words in the record */
	uint8_t is_cuda;      /* runtime or driver */
	uint8_t is_quiet;     /* known, but not recorded */
	uint8_t returns;      /* enum sl_gpu_returns */
	uint64_t stack_ticks; /* calls as long as this get a stack; UINT64_MAX: none do */
	struct sl_gpu_arg arg[SL_GPU_ARGS];
};
extern struct sl_gpu_function_state *sl_gpu_state; /* by function number; NULL: nothing is bound */

/* What the assembly needs to know, by function number. */
extern uint8_t sl_gpu_stack_words
	[SL_GPU_FUNCTION_CNT]; /* arguments on the stack; bit 7: SSE registers too */
#define SL_GPU_SSE 128u

/* The entry of a function: what callers are pointed at. */
void *sl_gpu_entry(unsigned number);

/* ---- gpu_bind.c ---- */

/* Looks at what is loaded, if that has changed. Cheap when nothing has. */
void sl_gpu_scan(void);
/* From now on this thread's next traced call scans: for what is loaded out of our sight, or runs while loading. */
void sl_gpu_scan_soon(void);
/* In the child of a fork, which has one thread. */
void sl_gpu_forked(void);
extern struct sl_gpu_seen {
	uint32_t bound;    /* libraries, a bit for each enum sl_gpu_library */
	const char *cupti; /* path of a loaded libcupti, NULL none */
} sl_gpu_seen;
/* Number of the function with this name, -1: none. */
int sl_gpu_number(const char *name);
/* Number of the function whose real address this is, -1: none. */
int sl_gpu_by_address(const void *real);
/* Is it code of the tracer's own companions (CUPTI), or of a library that is bound? */
bool sl_gpu_is_inside(const void *code, bool and_bound);

/* ---- gpu_place.c ---- */

struct sl_gpu_line;
/* Fills in what of @f depends on its line; false: its arguments cannot be passed on. @stack_words: as above. */
bool sl_gpu_place(const struct sl_gpu_line *line, struct sl_gpu_function_state *f,
		  uint8_t *stack_words);

/* ---- gpu_profiler.c ---- */

/* cudaProfilerStart and its kin: what to hand out instead of @number's entry. NULL: none of them. */
void *sl_gpu_profiler(unsigned number);

/* ---- gpu_dlsym.c ---- */

/* What to hand out instead of @number's entry: functions that return functions are wrapped by hand. NULL: none. */
void *sl_gpu_special(unsigned number);

/* ---- gpu_yield.c ---- */

struct sl_object;
/* libcupti: remembers where the functions are by which a program asks for it. False: had one already. */
bool sl_gpu_cupti_found(const struct sl_object *o);
/* Our entry for the function of this name, and where the real one is; NULL: none of them. */
void *sl_gpu_asking(const char *name, void **real);
void *sl_gpu_asking_at(const void *real);

/* ---- gpu_cupti.c ---- */

/* Gives CUPTI up to the program; does nothing the second time. */
void sl_gpu_yield(void);

enum sl_gpu_cupti {
	SL_GPU_CUPTI_NOT_YET = 0,
	SL_GPU_CUPTI_LOADING,
	SL_GPU_CUPTI_LOADED, /* the first call has not returned */
	SL_GPU_CUPTI_DONE,   /* or not wanted */
};
extern uint32_t sl_gpu_cupti_state; /* enum sl_gpu_cupti */
/* CUPTI records while the gate is open: brings it up to date, in this thread. */
void sl_gpu_follow(void);
extern uint32_t sl_gpu_followed; /* the gate as CUPTI knows it */
/* Hands over what CUPTI has. */
void sl_gpu_flush(void);
/* In the child of a fork. */
void sl_gpu_cupti_forked(void);
/* Before a process's first call into CUDA, and after. */
void sl_gpu_start_cupti(void);
void sl_gpu_after_first_call(void);

#pragma GCC visibility pop
#endif

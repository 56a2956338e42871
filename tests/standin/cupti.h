/*
 * cupti.h - inside the stand-in for libcupti, and what tests may ask of it beyond CUPTI's own functions.
 *
 * It keeps CUPTI's contract, also where that hurts: records only of kinds that are enabled, in buffers that it asks
 * for in the program's threads and returns from its worker, in no order; one subscriber; nothing in forked children;
 * buffers late; records of any version's layout. What its user must not do ends the program with a message.
 *
 * Environment:
 *   STANDIN_CUPTI_VERSION=18     version of the API (default: by the library's name)
 *   STANDIN_CUPTI_TAKEN=NAME     the subscriber's place is NAME's
 *   STANDIN_CUPTI_FAIL=ActivityEnable:52=21,Subscribe=35    results of functions, by argument
 *   STANDIN_CUPTI_DROP=N         every Nth record finds no room
 *   STANDIN_CUPTI_LATE=MS        the last buffer of a forced flush comes that much later, from the worker
 *   STANDIN_CUPTI_UM=N           to count unified memory of other than N devices is wrong
 *   STANDIN_CUPTI_SLOW_SUBSCRIBE=MS  the shim's subscription takes that long
 *   STANDIN_CUPTI_EARLY=1        to subscribe after cuInit is wrong
 *   STANDIN_CUPTI_FLUSH=MS       a flush takes that long
 *   STANDIN_CUPTI_AHEAD=1        it has the next buffer as soon as one is flushed, for calls that may never come
 *   STANDIN_CUPTI_SHIFT=BYTES    fields lie that much further on: a layout of the future
 *   STANDIN_CUPTI_RAW_CLOCK=1    its clock is CLOCK_MONOTONIC_RAW, as on WSL
 *   STANDIN_CUPTI_LOG=FOLDER     what it did with each activity (cupti_log.c)
 *   STANDIN_CUPTI_LIES=NAME,NAME  bugs it has (cupti_bugs.def); none: no bug; default: those of its version
 *   STANDIN_CUPTI_OUTER=1        no records of the driver's calls inside the runtime's: PyTorch asserts that there are none
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/cupti/api.h"
#include "tests/standin/standin.h"

/* Of other tools alone; its fields lie behind those that tests have values for. */
#define CUPTI_KIND_EXTERNAL_CORRELATION 39

enum standin_field {
#define FIELD(shape, field, offset, bytes, version, member) F_##shape##_##field,
#include "preload/cupti/layout.def"
	FIELD_CNT,
	F_EXTERNAL_kind = FIELD_CNT,
	F_EXTERNAL_id,
	F_EXTERNAL_correlation
};

struct standin_value {
	enum standin_field field;
	uint64_t value; /* of fields wider than 8 bytes: an address */
};

struct standin_emit {
	enum cupti_kind kind;
	const struct standin_value *values;
	unsigned cnt;
	/* Times are filled in once they are over; a kind without them has no fields here (start_field 0: F_API_cbid). */
	enum standin_field start_field, end_field;
	uint64_t start, end; /* CLOCK_MONOTONIC ns */
};

/* Exported, for tests: a record as if the GPU had done it. */
void standin_cupti_emit(const struct standin_emit *e);

/* cupti_lies.c */
enum standin_lie {
#define LIE(name, from, to, source) LIE_##name,
#include "tests/standin/cupti_bugs.def"
	LIE_CNT
};

/* True: the simulated version has the bug. */
bool standin_lies(enum standin_lie lie);
/* The GPU took the times of this kind: they are converted when the record is handed over, those of the CPU at once. */
bool standin_is_by_gpu(int kind);
/* Times of a record from CLOCK_MONOTONIC to CUPTI's clock of now. */
void standin_lie_times(int kind, uint64_t *start, uint64_t *end);

/*
 * cupti_hazard.c: a graph was instantiated; whether its launch is recorded; a call of the program begins or ends; a kind is
 * about to be disabled.
 */
void standin_instantiated(uint32_t exec);
bool standin_graph_is_traced(uint32_t exec);
void standin_launching(bool is_exit, const char *name);
void standin_disabling(int kind);

/* cupti_buffers.c */
extern pthread_mutex_t standin_lock;
extern cupti_timestamp *standin_timestamp;
extern cupti_buffer_requested *standin_requested;
extern cupti_buffer_completed *standin_completed;
uint64_t standin_default_clock(void);
int64_t standin_clock_offset(bool of_client);
extern uint32_t standin_period, standin_used, standin_no_polls;
extern unsigned standin_sessions; /* how often kernels were enabled */
bool standin_enable(int kind, bool on);
bool standin_enabled(int kind);
bool standin_any_enabled(void);
int standin_flush(bool forced);
size_t standin_dropped(void);
void standin_reset(void);
void standin_stop(void);               /* the worker, which returns no more buffers */
extern __thread bool standin_delivers; /* this thread is in the client's callback */

/* cupti.c */
uint32_t standin_version(void);
bool standin_left_out(int is_driver, uint32_t id);
void standin_check_child(const char *function);
bool standin_owns(void); /* false in a forked child */
void standin_resource(uint32_t id, const struct cupti_resource_data *data);
uint64_t standin_env(const char *name, uint64_t otherwise);
_Noreturn void standin_wrong(const char *what);
uint64_t standin_now(void);

/* cupti_life.c */
extern uint32_t standin_flushes; /* atomic: in progress */
void standin_check_begin(void);
bool standin_is_too_new(void); /* for the driver, by its major version */
void standin_check_end(const char *function);
/* cupti_settings.c: settings of the process, no matter by which client */
bool standin_zeroed(void); /* buffers are to be zero */
bool standin_event_times(void);
uint32_t standin_thread(void); /* this one, as records name it */
void standin_settings_reset(void);
bool standin_is_second(void); /* the interface for several clients is in use */

/* cupti.c */
int standin_fails(const char *function, int argument);
/* To callbacks of runtime or driver calls, in domains that the subscriber has enabled. */
void standin_call_event(int is_exit, int is_driver, const char *name);

/* cupti_log.c */
enum standin_fate {
	FATE_OFF, /* its kind was not enabled */
	FATE_SHIM,
	FATE_CLIENT, /* of the program */
	FATE_DROPPED,
};
extern __thread enum standin_fate standin_fate; /* of this thread's last record */
void standin_log_activity(const struct standin_activity *a, uint64_t at);
void standin_log_call(int is_exit, const char *name);
/* @times: when it was, start and end, and the same as a record has them that is handed over. */
void standin_log_times(int kind, enum standin_fate fate, const uint64_t times[4]);
void standin_log_dropped(int kind, enum standin_fate fate);
bool standin_is_shim(const void *callback);

/* cupti_work.c */
bool standin_attach(void);
void standin_dump_device(void);
void standin_dump_contexts_made(void);
const char *standin_call_name(int domain, uint32_t id);

/* cupti_tools.c: records of the ids that the thread has pushed, for a call. */
void standin_external(uint32_t correlation);
/* Times of a record in the client's clock, where that does not count nanoseconds (else false); begin: it was registered. */
void standin_ticks_begin(void);
bool standin_ticks(uint64_t *start, uint64_t *end);

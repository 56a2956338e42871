/*
 * guest.h - internal interface of libtrace-cuda.so.
 *
 * CUPTI calls it on its own threads and on the program's: buffers, strings and records are lock-free. State changes
 * (start, flush, yield) are requested by libtrace.so.
 */
#pragma once

#include "preload/cupti/api.h"
#include "preload/cupti/cupti.h"

struct guest {
	const struct sl_cuda_host *host;
	struct cupti cupti;
	uint32_t version; /* of CUPTI's API */
	int pid;          /* of the process that started it; differs in a forked child */
	uint32_t running; /* atomic: between start and yield */
	uint32_t
		broken; /* atomic: records are inconsistent with their layout; no more are converted */
	uint32_t unchecked; /* atomic: number of records that are still checked before conversion */
	uint32_t zeroed;    /* CUPTI assumes zeroed buffers */
	uint32_t is_lent;   /* to the program */
	uint64_t back_at;   /* atomic: when it was taken back last; 0: never */
	const struct sl_cuda_client *client; /* from which it was taken back */
	uint32_t um_pending;                 /* unified memory counters wait for the driver */
	uint32_t recording;                  /* atomic: GPU work is recorded */
	uint64_t kinds;                      /* atomic: bit per enabled kind */
	uint64_t asked;                      /* atomic: bit per kind that the session wants */
	uint32_t captures;                   /* how often recording began */
	uint32_t incomplete; /* atomic: buffers that CUPTI did not complete, since the last flush */
	uint64_t refused;    /* bit per kind that CUPTI refused; reported once */
	void *subscriber;
	char path[4096];  /* of libcupti */
	bool is_programs; /* the program has loaded it: no other can be used */
};
extern struct guest guest;

/* guest.c */
bool guest_is_own_process(void); /* false in a forked child */

/* start.c */
bool set_up(
	const struct sl_cuda_client *client); /* @client: of a lent CUPTI; NULL: the first time */
void flush_all(bool final);
void wait_for_flush(void); /* of another thread; bounded */

/* lend.c */
bool lend(const struct sl_cuda_client *client);
bool take_back(const struct sl_cuda_client *client);
void record_lent(const struct sl_cuda_client *client, uint64_t since, int result);

/*
 * settings.c: settings of CUPTI, which are the process's. settings_restore() gives back what was there before the first
 * change.
 */
bool settings_attribute(int attribute, uint8_t value);
void settings_thread_ids(void); /* system thread ids in records */
void settings_event_times(void);
void settings_no_polls(void);
void settings_restore(void);
bool settings_keep(int attribute, size_t bytes, const void *value);

/*
 * find.c: fills guest.cupti and guest.path for one after the other, until @use returns true. False: it did for none; @why
 * gets the name of the last one that lacks functions, or "".
 */
typedef bool find_use(void);
bool find_cupti(char *why, size_t size, find_use *use);
/* A function of the loaded driver that only queries, or NULL. */
void *find_driver_query(const char *name);
const char *find_version_text(char *to, size_t size);
int find_driver(
	void); /* the newest CUDA that the loaded driver supports, 12040; 0: unknown, or none is loaded */

/* version.c: sets guest.version. Returns CUPTI's result. */
int version_ask(void);

/*
 * kinds.c: enables the activity kinds of the session: those that must be enabled before something is recorded, and with
 * guest.recording the others. Returns 0, or a result that prevents all of them.
 */
int kinds_enable(void);
void kinds_enable_late(void);
void kinds_rest(void); /* disables those that only recording needs */
void kinds_disable(void);
bool kinds_have_nodes(void); /* graphs are recorded by their nodes */

/* wanted.c: recording begins or ends; all that ended before @until has been delivered; a call was recorded. */
void wanted_recording(bool on);
void wanted_delivered(uint64_t until);
void wanted_call(uint32_t correlation);
uint32_t wanted_newest(void);           /* its id; 0: none */
bool wanted_work(uint32_t correlation); /* false: the work was launched when nothing was recorded */

/* buffers.c */
cupti_buffer_requested buffer_requested;
cupti_buffer_completed buffer_completed;
bool buffer_is_own(const uint8_t *buffer);
bool buffer_is_taken(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
		     size_t valid); /* false: not one of these */
uint64_t buffers_oldest(
	void); /* request time of the oldest buffer that CUPTI owns; UINT64_MAX: none */
bool buffers_used(void);
void buffers_wait(void); /* until completed buffers are converted */

/* clock.c: once before the first record; then at each flush and each buffer, by any thread. */
void clock_start(void);
void clock_replace(void); /* instead, where another client has registered a clock */
void clock_measure(void);
/* A time of a record on CLOCK_MONOTONIC, which is @now. 0: CUPTI knows none, or of no known clock. */
uint64_t clock_mono(uint64_t t, uint64_t now);

/* convert.c */
/* @since: of a buffer of the program's, what is older is the program's; 0: all is converted. */
void convert_buffer(uint8_t *buffer, size_t valid, uint64_t since);

/* strings.c: id of a text in the calling thread's ring; 0: no room, or no text. */
uint32_t text_id(const char *text);
uint32_t text_call(bool driver, uint32_t id); /* name of a callback id */

/* graph.c: --cuda-graph-trace=node */
void graph_watch(void);
cupti_callback graph_callback;

/* status.c */
void status_record(enum sl_gpu_status_code code, int detail, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void status_record_since(uint64_t since, enum sl_gpu_status_code code, int detail,
			 const char *format, ...) __attribute__((format(printf, 4, 5)));
void status_failed(int result, const char *what); /* a sentence by the result */
bool status_is_final(int result); /* all other requests will fail with this result, too */
const char *status_name(int result);
/* What the user can do for @better ("an older libcupti"). In a static buffer. */
const char *status_remedy(const char *better);

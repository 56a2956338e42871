/*
 * guest.h - the parts of libtrace-cuda.so.
 *
 * CUPTI calls us on its own threads and on the program's: buffers, strings and records know no lock. What changes
 * state (start, flush, yield) comes from libtrace.so.
 */
#ifndef SL_CUPTI_GUEST_H
#define SL_CUPTI_GUEST_H

#include "preload/cupti/api.h"
#include "preload/cupti/cupti.h"

struct guest {
	const struct sl_cuda_host *host;
	struct cupti cupti;
	uint32_t version;     /* of CUPTI's API */
	int pid;              /* a forked child is not ours */
	uint32_t running;     /* atomic: between start and yield */
	uint32_t broken;      /* atomic: records make no sense, nothing more is told */
	uint32_t unchecked;   /* atomic: records still to be looked at before they are believed */
	uint32_t zeroed;      /* CUPTI takes buffers as zeroed */
	uint32_t wall_clock;  /* atomic: the clock is somebody else's again, see yield */
	uint32_t um_pending;  /* unified memory counters wait for the driver */
	int64_t clock_offset; /* to CLOCK_MONOTONIC, for versions that cannot be given a clock */
	uint32_t recording;   /* atomic: the kinds that tell of work are enabled */
	uint64_t kinds;       /* atomic: bit per enabled kind */
	uint64_t refused;     /* bit per kind that CUPTI does not record: said once */
	void *subscriber;
	char path[4096]; /* of libcupti */
};
extern struct guest guest;

bool guest_is_ours(void); /* false in a forked child */

/* find.c: fills guest.cupti and guest.path. False: none; @why gets the name of what was tried last, or "". */
bool find_cupti(char *why, size_t size);
const char *find_version_text(char *to, size_t size);

/*
 * kinds.c: enables what the session wants: what lasts (devices, contexts, streams), and with guest.recording what tells of
 * work. Returns 0, or the result that makes all of it pointless.
 */
int kinds_enable(void);
void kinds_disable(void);
void kinds_disable_work(void);
void kinds_enable_late(void);

/* buffers.c */
cupti_buffer_requested buffer_requested;
cupti_buffer_completed buffer_completed;
uint64_t buffers_oldest(
	void); /* when the oldest of those that CUPTI still has was given out; UINT64_MAX: none */
bool buffers_used(void);
void buffers_wait(void); /* until those that came back are converted */

/* convert.c */
void convert_buffer(uint8_t *buffer, size_t valid);

/* strings.c: id of a text in the calling thread's ring; 0: no room, or no text. */
uint32_t text_id(const char *text);
uint32_t text_call(bool driver, uint32_t id); /* name of a callback id */

/* graph.c: --cuda-graph-trace=node */
void graph_watch(void);
cupti_callback graph_callback;

/* status.c */
void status_tell(enum sl_gpu_status_code code, int detail, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void status_failed(int result, const char *what); /* the sentence that belongs to the result */
bool status_is_final(int result); /* this result will come for everything else too */
const char *status_name(int result);

#endif

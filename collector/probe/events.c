/* events.c - XIDs and uncorrectable errors, as the driver reports them, in a thread that waits for them. */
#include "collector/probe/choose.h"
#include "collector/probe/gpus.h"
#include "collector/probe/out.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 500

struct watch {
	struct gpus *gpus;
	struct out *out;
	nvml_event_set set;
};

static const char *xid_text(unsigned long long code)
{
	switch (code) {
	case 13:
		return " (an exception in a kernel: address or instruction)";
	case 31:
		return " (a page fault of the GPU: a kernel read or wrote an address that is not "
		       "mapped)";
	case 43:
		return " (a fault of the program: its channel was reset)";
	case 45:
		return " (work was removed after another error)";
	case 48:
		return " (memory error of two bits, not correctable)";
	case 63:
	case 64:
		return " (rows of the memory are remapped)";
	case 74:
		return " (error of NVLink)";
	case 79:
		return " (the GPU has fallen off the bus)";
	case 94:
	case 95:
		return " (memory error, not correctable)";
	case 119:
	case 120:
		return " (the GPU's system processor does not answer)";
	default:
		return "";
	}
}

static const struct probe_gpu *find(const struct gpus *g, nvml_device device)
{
	for (unsigned i = 0; i < g->cnt; i++)
		if (g->gpu[i].device == device)
			return &g->gpu[i];
	return NULL;
}

static void take(struct watch *w, const struct nvml_event *event)
{
	const struct probe_gpu *gpu = find(w->gpus, event->device);
	struct probe_event e = {.mono = out_now(), .code = (int64_t)event->data};
	const char *what = event->type & NVML_EVENT_XID          ? "xid"
			   : event->type & NVML_EVENT_DOUBLE_BIT ? "ecc"
			   : event->type & NVML_EVENT_RECOVERY   ? "recovery"
								 : "lost";

	if (!gpu)
		return;
	e.gpu = gpu->info.gpu;
	snprintf(e.what, sizeof(e.what), "%s", what);
	/* Without MIG all bits are set. */
	e.instance = event->instance == UINT32_MAX ? -1 : (int32_t)event->instance;
	e.sub_instance = event->sub_instance == UINT32_MAX ? -1 : (int32_t)event->sub_instance;
	if (!(event->type & NVML_EVENT_XID))
		e.code = INT64_MIN;
	out_event(w->out, &e);
	if (event->type & NVML_EVENT_XID)
		out_note(w->out, 2, "GPU %u: XID %llu%s", gpu->index, event->data,
			 xid_text(event->data));
}

static void *run(void *arg)
{
	struct watch *w = arg;
	const struct nvml *n = w->gpus->gpu[0].nvml;

	while (!out_is_over(w->out)) {
		struct nvml_event event = {.instance = UINT32_MAX, .sub_instance = UINT32_MAX};
		unsigned ret;
		int64_t began = out_now();

		out_beat(w->out);
		ret = n->event_wait(w->set, &event, WAIT_MS);
		if (ret == NVML_SUCCESS)
			take(w, &event);
		else if (ret != NVML_TIMEOUT) /* a GPU is lost: others may still report */
			out_sleep(w->out, out_now() + WAIT_MS * INT64_C(1000000));
		else if (out_now() - began < 1000000) /* it returned early: not in a busy loop */
			out_sleep(w->out, out_now() + 50000000);
	}
	out_leave(w->out);
	return NULL;
}

void events_start(struct gpus *g, struct out *o)
{
	const unsigned long long wanted = NVML_EVENT_DOUBLE_BIT | NVML_EVENT_XID |
					  NVML_EVENT_UNAVAILABLE | NVML_EVENT_RECOVERY;
	const struct nvml *n = g->cnt ? g->gpu[0].nvml : NULL;
	struct watch *w;
	pthread_t thread;
	bool any = false;

	if (!n || !n->event_types || !n->event_set || !n->event_register || !n->event_wait)
		return;
	w = calloc(1, sizeof(*w));
	if (!w || n->event_set(&w->set) != NVML_SUCCESS) {
		free(w);
		return;
	}
	w->gpus = g;
	w->out = o;
	for (unsigned i = 0; i < g->cnt; i++) {
		unsigned long long types = 0;

		if (g->gpu[i].parent || n->event_types(g->gpu[i].device, &types) != NVML_SUCCESS ||
		    !(types & wanted))
			continue;
		any |= n->event_register(g->gpu[i].device, types & wanted, w->set) == NVML_SUCCESS;
	}
	if (any && !pthread_create(&thread, NULL, run, w))
		pthread_detach(thread);
}

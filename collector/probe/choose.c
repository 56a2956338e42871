/*
 * choose.c - gives each GPU its sources: health by NVML; hardware metrics by PM sampling where it was asked for and is
 * possible, else by GPM. Never by two at a time, or their values would stand under one name.
 *
 * NVML and GPM take turns in one thread, since a call takes a fraction of a millisecond; PM sampling has a thread per
 * GPU, which also opens it (seconds, where a context is made).
 */
#include "collector/probe/choose.h"
#include "collector/probe/gpus.h"
#include "collector/probe/out.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER_MS  30000 /* without persistence mode the driver initialises the GPU first */
#define DEFAULT_HZ 10000
#define LINES      512 /* at least SOURCE_WHY */

/* A source at work on a GPU; none: source NULL. */
struct work {
	const struct source *source;
	void *state;
	int64_t due;
};

enum pm_state {
	PM_NONE, /* not asked for, or over */
	PM_OPENS,
	PM_RUNS,
	PM_FAILED, /* did not open: why */
	PM_ENDED,  /* likewise, later */
};

struct one {
	struct probe_gpu *gpu;
	struct out *out;
	struct source_want want;
	bool is_meant;    /* hardware metrics */
	enum pm_state pm; /* written by its thread until it is FAILED or ENDED */
	struct source_why why;
	pthread_t thread;
	struct work health, gpm;
	char line[LINES]; /* for the user, once all is decided */
};

struct choice {
	struct gpus gpus;
	struct one one[GPUS_MOST];
	bool is_ready;
};

/* ---- PM sampling ---- */

static void pm_set(struct one *g, enum pm_state state)
{
	/* Release: with it @why; pairs with pm_get(). */
	__atomic_store_n(&g->pm, state, __ATOMIC_RELEASE);
}

static enum pm_state pm_get(struct one *g)
{
	return __atomic_load_n(&g->pm, __ATOMIC_ACQUIRE);
}

static void *pm_run(void *arg)
{
	struct one *g = arg;
	int64_t next = 0;
	void *state;

	out_patience(g->out, DRIVER_MS);
	state = source_pm.open(g->gpu, &g->want, g->out, &g->why);
	out_patience(g->out, 0);
	if (!state) {
		out_leave(g->out);
		pm_set(g, PM_FAILED);
		return NULL;
	}
	pm_set(g, PM_RUNS);
	while (!out_is_over(g->out) && next >= 0) {
		out_sleep(g->out, next);
		out_beat(g->out);
		next = source_pm.poll(state, &g->why);
	}
	source_pm.close(state);
	out_leave(g->out);
	if (next < 0)
		pm_set(g, PM_ENDED);
	return NULL;
}

static void pm_start(struct one *g)
{
	g->pm = PM_OPENS;
	if (!pthread_create(&g->thread, NULL, pm_run, g))
		return;
	snprintf(g->why.text, sizeof(g->why.text), "no thread could be started");
	g->pm = PM_FAILED;
}

/* ---- GPM and health ---- */

static bool work_open(struct work *w, struct one *g, const struct source *source,
		      const struct source_want *want, struct source_why *why)
{
	out_patience(g->out, DRIVER_MS);
	w->state = source->open(g->gpu, want, g->out, why);
	out_patience(g->out, 0);
	w->source = w->state ? source : NULL;
	w->due = 0;
	return w->state != NULL;
}

static void work_close(struct work *w)
{
	if (w->source)
		w->source->close(w->state);
	w->source = NULL;
}

static void gpu_name(const struct one *g, char *text, size_t len)
{
	if (g->gpu->parent)
		snprintf(text, len, "GPU %u (MIG %d.%d)", g->gpu->index, g->gpu->info.instance,
			 g->gpu->info.sub_instance);
	else
		snprintf(text, len, "GPU %u", g->gpu->index);
}

/* Without PM sampling: because of g->why, or because nothing better was asked for. */
static void try_gpm(struct one *g, bool is_asked)
{
	struct source_want want = g->want;
	struct source_why why = {.text = ""};
	char reason[SOURCE_WHY];

	snprintf(reason, sizeof(reason), "%s%.360s", is_asked ? "PM sampling: " : "",
		 is_asked ? g->why.text : "PM sampling was not asked for (--gpu-metrics-devices)");
	want.reason = reason;
	if (g->why.is_final) {
		snprintf(g->line, sizeof(g->line), "no hardware metrics: %s", g->why.text);
		return;
	}
	if (work_open(&g->gpm, g, &source_gpm, &want, &why)) {
		if (is_asked)
			snprintf(
				g->line, sizeof(g->line),
				"hardware metrics come from GPM, at 9.5 Hz; no PM sampling: %.400s",
				g->why.text);
		return;
	}
	if (is_asked)
		snprintf(g->line, sizeof(g->line),
			 "no hardware metrics: PM sampling: %.220s; GPM: %.220s", g->why.text,
			 why.text);
}

static void lost(struct one *g, const char *why)
{
	struct probe_event e = {.gpu = g->gpu->info.gpu,
				.mono = out_now(),
				.what = "lost",
				.code = INT64_MIN,
				.instance = -1,
				.sub_instance = -1};
	char name[64];

	gpu_name(g, name, sizeof(name));
	out_event(g->out, &e);
	out_note(g->out, 2, "%s: sampling has ended: %s", name, why);
	work_close(&g->health);
	work_close(&g->gpm);
}

/* One call for a source that is due. CLOCK_MONOTONIC of the next one. */
static int64_t work_poll(struct one *g, struct work *w)
{
	struct source_why why = {.text = ""};
	char name[64];

	if (!w->source)
		return INT64_MAX;
	if (w->due > out_now() && !out_is_over(g->out))
		return w->due;
	out_beat(g->out);
	w->due = w->source->poll(w->state, &why);
	if (w->due >= 0)
		return w->due;
	if (why.is_final) {
		lost(g, why.text);
		return INT64_MAX;
	}
	gpu_name(g, name, sizeof(name));
	if (g->want.reason == NULL || w != &g->gpm)
		out_note(g->out, 2, "%s: %s", name, why.text);
	work_close(w);
	return INT64_MAX;
}

/* ---- sources of each GPU ---- */

/* The @i-th of a list, or its only one; false: it has more than one, and no such. */
static bool nth(const char *list, unsigned i, char *to, size_t len)
{
	const char *at = list;
	size_t n;

	if (strchr(list, ','))
		for (; i && *at; i--)
			at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',');
	n = strcspn(at, ",");
	if (!n || n >= len)
		return false;
	memcpy(to, at, n);
	to[n] = '\0';
	return true;
}

static int64_t frequency(const char *text)
{
	char *end;
	long long v = strtoll(text, &end, 10);

	return v * (*end == 'k' || *end == 'K' ? 1000 : *end == 'M' || *end == 'm' ? 1000000 : 1);
}

static void set_wants(struct choice *c, const struct choose_ask *ask)
{
	unsigned meant = 0, i = 0;
	char text[512];

	for (unsigned k = 0; k < c->gpus.cnt; k++)
		meant += c->one[k].is_meant;
	for (unsigned k = 0; k < c->gpus.cnt; k++) {
		struct one *g = &c->one[k];

		if (!g->is_meant)
			continue;
		g->want.hz = ask->frequency && nth(ask->frequency, i, text, sizeof(text))
				     ? frequency(text)
				     : DEFAULT_HZ;
		g->want.rows = ask->rows / meant;
		if (ask->set && nth(ask->set, i, text, sizeof(text)))
			g->want.set = strdup(text);
		i++;
	}
}

static void open_all(struct choice *c, struct out *o, const struct choose_ask *ask)
{
	bool is_meant[GPUS_MOST], is_asked = ask->devices && strcmp(ask->devices, "none") != 0;
	const char *devices = ask->devices ? ask->devices : "all";
	char why[1000] = "";

	if (!strcmp(devices, "none"))
		memset(is_meant, 0, sizeof(is_meant));
	else if (!gpus_choose(&c->gpus, devices, ask->visible, is_meant, why, sizeof(why)))
		out_note(o, 2, "--gpu-metrics-devices: %s", why);
	for (unsigned i = 0; i < c->gpus.cnt; i++) {
		struct one *g = &c->one[i];

		*g = (struct one){.gpu = &c->gpus.gpu[i], .out = o, .is_meant = is_meant[i]};
		out_send(o, &g->gpu->info, sizeof(g->gpu->info));
	}
	set_wants(c, ask);
	for (unsigned i = 0; i < c->gpus.cnt && is_asked; i++) {
		struct one *g = &c->one[i];

		if (g->is_meant)
			pm_start(g);
	}
	for (unsigned i = 0; i < c->gpus.cnt; i++) {
		struct one *g = &c->one[i];
		struct source_want want = {.hz = ask->health_hz};
		struct source_why ignored;

		if (ask->health_hz)
			work_open(&g->health, g, &source_nvml, &want, &ignored);
		if (g->is_meant && !is_asked)
			try_gpm(g, false);
	}
}

/* One line for GPUs of which the same is to be known. */
static void say_lines(struct choice *c, struct out *o)
{
	for (unsigned i = 0; i < c->gpus.cnt; i++) {
		char names[256], line[LINES];
		size_t used;

		if (!c->one[i].line[0])
			continue;
		memcpy(line, c->one[i].line, sizeof(line));
		gpu_name(&c->one[i], names, sizeof(names));
		c->one[i].line[0] = '\0';
		for (unsigned k = i + 1; k < c->gpus.cnt; k++) {
			if (strcmp(c->one[k].line, line) != 0)
				continue;
			used = strlen(names);
			if (used + 80 < sizeof(names)) {
				char name[64];

				gpu_name(&c->one[k], name, sizeof(name));
				snprintf(names + used, sizeof(names) - used, ", %s", name);
			}
			c->one[k].line[0] = '\0';
		}
		out_note(o, 2, "%s: %s", names, line);
	}
}

/* Looks at the outcome of PM sampling. */
static void look_at_pm(struct choice *c, struct out *o)
{
	static const uint32_t ready[2] = {PROBE_READY, 0};
	bool waits = false;

	for (unsigned i = 0; i < c->gpus.cnt; i++) {
		struct one *g = &c->one[i];
		enum pm_state state = pm_get(g);

		waits |= state == PM_OPENS;
		if (state == PM_RUNS && !c->is_ready)
			out_reason(o, g->gpu->info.gpu, g->line);
		if (state != PM_FAILED && state != PM_ENDED)
			continue;
		pthread_join(g->thread, NULL);
		g->pm = PM_NONE;
		try_gpm(g, true);
	}
	if (waits)
		return;
	say_lines(c, o);
	if (!c->is_ready)
		out_send(o, ready, sizeof(ready));
	c->is_ready = true;
}

static int64_t poll_all(struct choice *c)
{
	int64_t next = INT64_MAX;

	for (unsigned i = 0; i < c->gpus.cnt; i++) {
		int64_t health = work_poll(&c->one[i], &c->one[i].health);
		int64_t gpm = work_poll(&c->one[i], &c->one[i].gpm);

		next = health < next ? health : next;
		next = gpm < next ? gpm : next;
	}
	return next;
}

/* The last samples of PM sampling, within the time that the collector waits. */
static void join_pm(struct choice *c)
{
	for (unsigned i = 0; i < c->gpus.cnt; i++)
		if (pm_get(&c->one[i]) == PM_OPENS || pm_get(&c->one[i]) == PM_RUNS)
			pthread_join(c->one[i].thread, NULL);
}

void choose_run(struct out *o, const struct choose_ask *ask)
{
	static const uint32_t ready[2] = {PROBE_READY, 0};
	static struct choice c; /* outlives this thread: others use it until the process ends */
	const struct nvml *n;
	bool is_absent;
	char why[512];

	out_patience(o, DRIVER_MS);
	n = nvml_load(why, sizeof(why), &is_absent);
	if (!n) {
		if (!is_absent || !ask->is_default)
			out_note(o, 2, "GPUs are not sampled: %s", why);
		out_send(o, ready, sizeof(ready));
		out_leave(o);
		return;
	}
	gpus_find(&c.gpus, n);
	if (c.gpus.denied && !ask->is_default)
		out_note(o, 1, "%u GPU%s not sampled: no permission for %s", c.gpus.denied,
			 c.gpus.denied == 1 ? " is" : "s are", c.gpus.denied == 1 ? "it" : "them");
	if (!c.gpus.cnt && !ask->is_default)
		out_note(o, 2, "GPUs are not sampled: there is none");
	open_all(&c, o, ask);
	if (ask->health_hz)
		events_start(&c.gpus, o);
	out_patience(o, 0);
	while (!out_is_over(o)) {
		int64_t next = poll_all(&c), soon = out_now() + 100000000;

		look_at_pm(&c, o);
		/* Sleeps until all sources are chosen, and then until one ends. */
		out_sleep(o, next < soon ? next : soon);
	}
	poll_all(&c);
	out_leave(o);
	join_pm(&c);
}

/* health_source.c - samples of GPUs, as a source of events (--gpu-metrics-devices, --gpu-health). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/now.h"
#include "collector/health/health.h"
#include "collector/probe/frame.h"
#include "collector/source/recording.h"

#define READY_MS \
	10000 /* for sources that were asked for: a driver that is not in use takes seconds */
#define LATE_NS     400000000ll /* of samples after the end of a window */
#define FLIGHT_PART 4           /* of the flight recorder's memory */

struct health_source {
	struct recording *recording;
	struct health *health; /* NULL: GPUs are not sampled */
	bool is_new;           /* the options are those of open_source() */
};

static int64_t number_of(void *self, const uint8_t uuid[16], const struct probe_gpu_info *info)
{
	const struct recording *r = ((struct health_source *)self)->recording;

	return r->gpus.number(r->gpus.to, uuid, info->number);
}

static void gpu_row(void *self, int64_t id, const struct probe_gpu_info *info)
{
	const struct recording *r = ((struct health_source *)self)->recording;
	const struct gpu_seen seen = {.name = info->name,
				      .bus = *info->bus ? info->bus : NULL,
				      .memory = info->memory,
				      .major = info->major,
				      .minor = info->minor};

	r->gpus.write(r->gpus.to, id, &seen);
}

static void say(void *self, int severity, const char *text)
{
	recording_say(((struct health_source *)self)->recording, severity, "%s", text);
}

static const char name[] = "CUDA_VISIBLE_DEVICES=";

/* The variable of a running process, as it was at its start. */
static char *visible_to(uint32_t pid)
{
	char path[64], *line = NULL, *found = NULL;
	size_t cap = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	f = fopen(path, "re");
	while (f && !found && getdelim(&line, &cap, '\0', f) > 0)
		if (!strncmp(line, name, sizeof(name) - 1))
			found = strdup(line + sizeof(name) - 1);
	if (f)
		fclose(f);
	free(line);
	return found;
}

/* CUDA_VISIBLE_DEVICES of the program; malloc'd, NULL: it has none. */
static char *visible(const struct recording *r)
{
	const char *cursor = r->options->program.env_vars, *own = getenv("CUDA_VISIBLE_DEVICES");
	char *entry, *found;

	if (r->root->pid)
		return visible_to(r->root->pid);
	found = own ? strdup(own) : NULL;
	while ((entry = profile_env_next(&cursor))) {
		if (!strncmp(entry, name, sizeof(name) - 1)) {
			free(found);
			found = strdup(entry + sizeof(name) - 1);
		}
		free(entry);
	}
	return found;
}

static void open_health(struct health_source *s)
{
	struct recording *r = s->recording;
	const struct health_options *o = &r->options->cuda.health;
	const struct capture_options *capture = &r->options->capture;
	struct health_ask ask = {
		.options = *o,
		.loop = r->loop,
		.number = number_of,
		.gpu = gpu_row,
		.say = say,
		.ctx = s,
		.keep_ns = capture->flight_ns,
		.keep_bytes = capture->flight_ns ? (size_t)capture->flight_bytes / FLIGHT_PART : 0};
	char *list;

	if (s->health || !health_is_wanted(o))
		return;
	list = visible(r);
	ask.visible = list;
	s->health = health_open(&ask);
	free(list);
}

static bool open_source(void *self, struct recording *r)
{
	struct health_source *s = self;

	s->recording = r;
	s->is_new = true;
	open_health(s);
	return true;
}

static void ready(void *self)
{
	struct health_source *s = self;

	if (s->health && !s->recording->options->cuda.health.is_default)
		health_wait_ready(s->health, READY_MS);
}

static void finish(void *self)
{
	struct health_source *s = self;

	if (s->health)
		health_end(s->health);
}

/* The options of `start` may ask for something else. */
static void begin(void *self, int64_t mono)
{
	struct health_source *s = self;

	(void)mono;
	if (s->is_new) {
		s->is_new = false;
		return;
	}
	if (s->health && !health_is_as_asked(s->health, &s->recording->options->cuda.health)) {
		finish(s);
		health_close(s->health);
		s->health = NULL;
	}
	open_health(s);
}

static void end(void *self, int64_t mono)
{
	struct health_source *s = self;

	(void)mono;
	s->is_new = false;
}

static bool has_come(const void *self, int64_t mono)
{
	const struct health_source *s = self;

	return !s->health || health_is_read_to(s->health) >= mono || mono_ns() - mono > LATE_NS;
}

static int poll(void *self, bool all)
{
	struct health_source *s = self;
	struct recording *r = s->recording;
	struct event_rows rows;

	if (!s->health)
		return 0;
	rows = health_write(s->health, r->report->db, &r->report->windows, r->clocks->map.zero,
			    r->report->next_from_mono, all);
	recording_wrote(r, ROWS_GPU, &rows);
	return 0;
}

static void rotate(void *self)
{
	struct health_source *s = self;

	if (s->health)
		health_renew(s->health);
}

static void close_source(void *self)
{
	struct health_source *s = self;

	health_close(s->health);
}

const struct event_source health_source = {
	.name = "samples of GPUs",
	.can.be_held = true,
	.bytes = sizeof(struct health_source),
	.open = open_source,
	.start.ready = ready,
	.capture = {.begin = begin, .end = end, .has_come = has_come},
	.poll = poll,
	.rotate = rotate,
	.finish = finish,
	.close = close_source,
};

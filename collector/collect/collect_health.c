/* collect_health.c - samples of GPUs in a collection: started with it, their rows written with everybody else's. */
#include "collector/collect/collect_health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/now.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/decode/gpu/gpu.h"
#include "collector/health/health.h"
#include "collector/probe/frame.h"

#define READY_MS \
	10000 /* for sources that were asked for: a driver that is not in use takes seconds */
#define LATE_NS     400000000ll /* of samples after the end of a window */
#define FLIGHT_PART 4           /* of the flight recorder's memory */

static int64_t number_of(void *ctx, const uint8_t uuid[16], const struct probe_gpu_info *info)
{
	struct collector *c = ctx;

	return gpu_number(&c->arenas, uuid, info->number);
}

static void gpu_row(void *ctx, int64_t id, const struct probe_gpu_info *info)
{
	struct collector *c = ctx;
	const struct gpu_seen seen = {.name = info->name,
				      .bus = *info->bus ? info->bus : NULL,
				      .memory = info->memory,
				      .major = info->major,
				      .minor = info->minor};

	gpu_seen_write(&c->arenas, id, &seen);
}

static void say(void *ctx, int severity, const char *text)
{
	notes_say(ctx, severity, "%s", text);
}

static const char name[] = "CUDA_VISIBLE_DEVICES=";

/* Of a process that runs, as it was when that was started. */
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
static char *visible(const struct collector *c)
{
	const char *cursor = c->options->program.env_vars, *own = getenv("CUDA_VISIBLE_DEVICES");
	char *entry, *found;

	if (c->root.pid)
		return visible_to(c->root.pid);
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

void collect_health_open(struct collector *c)
{
	const struct health_options *o = &c->options->cuda.health;
	const struct capture_options *capture = &c->options->capture;
	struct health_ask ask = {
		.options = *o,
		.loop = &c->loop,
		.number = number_of,
		.gpu = gpu_row,
		.say = say,
		.ctx = c,
		.keep_ns = capture->flight_ns,
		.keep_bytes = capture->flight_ns ? (size_t)capture->flight_bytes / FLIGHT_PART : 0};
	char *list;

	if (c->kernel.health || !health_is_wanted(o))
		return;
	list = visible(c);
	ask.visible = list;
	c->kernel.health = health_open(&ask);
	free(list);
}

void collect_health_ready(struct collector *c)
{
	if (c->kernel.health && !c->options->cuda.health.is_default)
		health_wait_ready(c->kernel.health, READY_MS);
}

void collect_health_begin(struct collector *c)
{
	const struct health_options *o = &c->options->cuda.health;

	if (c->kernel.health && !health_is_as_asked(c->kernel.health, o)) {
		collect_health_end(c);
		collect_health_close(c);
	}
	collect_health_open(c);
}

void collect_health(struct collector *c, bool all)
{
	struct health_rows rows;

	if (!c->kernel.health)
		return;
	rows = health_write(c->kernel.health, c->report.db, &c->report.windows, c->clocks.map.zero,
			    c->report.next_from_mono, all);
	pump_wrote(c, rows.cnt, rows.first, rows.last);
}

bool collect_health_is_read(const struct collector *c, int64_t mono)
{
	return !c->kernel.health || health_is_read_to(c->kernel.health) >= mono ||
	       mono_ns() - mono > LATE_NS;
}

void collect_health_renew(struct collector *c)
{
	if (c->kernel.health)
		health_renew(c->kernel.health);
}

void collect_health_end(struct collector *c)
{
	if (c->kernel.health)
		health_end(c->kernel.health);
}

void collect_health_close(struct collector *c)
{
	health_close(c->kernel.health);
	c->kernel.health = NULL;
}

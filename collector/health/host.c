/* host.c - which sources there are, and when each is read. */
#include "collector/health/host_internal.h"
#include "collector/base/now.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct host_source *const sources[HOST_SOURCES] = {
	&host_psi,        &host_cgroup, &host_memory, &host_vmstat, &host_disk,    &host_net,
	&host_infiniband, &host_cpu,    &host_power,  &host_clock,  &host_process,
};

struct host *host_open(const struct host_ask *ask)
{
	struct host *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->root = ask->root;
	h->period = 1000000000u / (uint64_t)(ask->hz > 0 ? ask->hz : 1);
	h->keep = (uint64_t)ask->keep_ns;
	for (unsigned i = 0; i < HOST_SOURCES; i++)
		h->source.state[i] = sources[i]->open(h);
	return h;
}

void host_close(struct host *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < HOST_SOURCES; i++)
		if (h->source.state[i])
			sources[i]->close(h->source.state[i]);
	for (size_t i = 0; i < h->series.cnt; i++)
		free(h->series.list[i].name);
	free(h->series.list);
	free(h->waiting.list);
	free(h->text.bytes);
	free(h);
}

void host_follow(struct host *h, pid_t pid)
{
	for (unsigned i = 0; i < HOST_SOURCES; i++) {
		if (!h->source.state[i] || !sources[i]->follow)
			continue;
		sources[i]->follow(h, h->source.state[i], pid);
		if (h->is_on)
			sources[i]->read(h, h->source.state[i]);
	}
}

void host_say(struct host *h, const char *format, ...)
{
	va_list args;

	if (h->why.cnt == sizeof(h->why.text) / sizeof(h->why.text[0]))
		return;
	va_start(args, format);
	vsnprintf(h->why.text[h->why.cnt++], sizeof(h->why.text[0]), format, args);
	va_end(args);
}

bool host_why(struct host *h, char *why, size_t why_len)
{
	if (h->why.said == h->why.cnt)
		return false;
	snprintf(why, why_len, "%s", h->why.text[h->why.said++]);
	return true;
}

/* A timer is late by some, and the next time may be early: half a tick is none. */
static void read_due(struct host *h, bool all)
{
	uint64_t now = (uint64_t)mono_ns();

	for (unsigned i = 0; i < HOST_SOURCES; i++) {
		if (!h->source.state[i] || (!all && now + h->period / 2 < h->source.due[i]))
			continue;
		h->source.due[i] = now + sources[i]->period;
		h->at = now;
		sources[i]->read(h, h->source.state[i]);
	}
}

void host_tick(struct host *h)
{
	if (h->is_on)
		read_due(h, false);
}

void host_begin(struct host *h)
{
	if (h->is_on)
		return;
	h->is_on = true;
	h->epoch++;
	read_due(h, true);
}

void host_end(struct host *h)
{
	if (!h->is_on)
		return;
	read_due(h, true);
	h->is_on = false;
}

uint64_t host_lost(const struct host *h)
{
	return h->lost;
}

/* health_intake.c - messages of sl-gpu. Each field is checked: texts for their end, numbers for their range. */
#include "collector/health/health_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RATE_MOST  INT64_C(1000000000) /* samples per 1000 s: a million a second */
#define NAME_BYTES sizeof(((struct probe_name *)0)->name)
#define UNIT_BYTES sizeof(((struct probe_name *)0)->unit)

/* Ends the text, and replaces characters that would spoil a terminal or a line. */
static void tame(char *text, size_t bytes)
{
	text[bytes - 1] = '\0';
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
}
#define TAME(text) tame(text, sizeof(text))

/* "GPU-" or "MIG-", then hexadecimal digits; of another form a number is made of it that is always the same. */
static void read_uuid(const char *text, uint8_t uuid[16])
{
	const char *p = strchr(text, '-');
	unsigned digits = 0;
	uint64_t hash = 1469598103934665603u;

	memset(uuid, 0, 16);
	for (p = p ? p + 1 : text; *p && digits < 32; p++) {
		int v = *p >= '0' && *p <= '9'   ? *p - '0'
			: *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
			: *p >= 'A' && *p <= 'F' ? *p - 'A' + 10
						 : -1;

		if (v < 0 && *p != '-')
			break;
		if (v >= 0) {
			uuid[digits / 2] = (uint8_t)(uuid[digits / 2] << 4 | v);
			digits++;
		}
	}
	if (digits == 32 && !*p)
		return;
	for (p = text; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 1099511628211u;
	memset(uuid, 0, 16);
	memcpy(uuid, &hash, sizeof(hash));
}

static void take_gpu(struct health *h, const char *message, size_t bytes)
{
	struct probe_gpu_info info;
	struct health_gpu *g;
	uint8_t uuid[16];

	if (bytes != sizeof(info))
		return;
	memcpy(&info, message, sizeof(info));
	if (info.gpu >= HEALTH_GPUS || h->gpu[info.gpu].is_there)
		return;
	TAME(info.uuid);
	TAME(info.name);
	TAME(info.bus);
	TAME(info.chip);
	g = &h->gpu[info.gpu];
	g->is_there = true;
	g->info = info;
	g->has_row = false;
	read_uuid(info.uuid, uuid);
	g->target = h->ask.number(h->ask.ctx, uuid, &info);
}

void health_stream_free(struct health_stream *s)
{
	if (!s)
		return;
	free(s->name);
	free(s->id);
	free(s->is_unknown);
	free(s->queue.at);
	free(s);
}

static bool is_stream(const struct probe_stream *s, size_t bytes)
{
	return s->stream < PROBE_STREAMS && s->what <= PROBE_COUNTERS && s->clock <= PROBE_OTHER &&
	       s->gpu < HEALTH_GPUS && s->names > 0 && s->names <= PROBE_VALUES_MAX &&
	       bytes == sizeof(*s) + s->names * sizeof(struct probe_name) && s->asked_mhz >= 0 &&
	       s->asked_mhz <= RATE_MOST && s->real_mhz >= 0 && s->real_mhz <= RATE_MOST &&
	       s->clocks_locked >= -1 && s->clocks_locked <= 1 && s->pid >= 0;
}

/* A GPU has one source of hardware metrics at a time: metrics of the previous source end. */
static void replace_metrics(struct health *h, struct health_stream *s)
{
	struct health_gpu *g = &h->gpu[s->about.gpu];

	if (s->about.what != PROBE_METRICS)
		return;
	if (g->metrics && h->stream[g->metrics - 1])
		h->stream[g->metrics - 1]->is_over = true;
	g->metrics = s->about.stream + 1u;
}

static void take_stream(struct health *h, const char *message, size_t bytes)
{
	struct health_stream *s;
	struct probe_stream about;

	if (bytes < sizeof(about))
		return;
	memcpy(&about, message, sizeof(about));
	if (!is_stream(&about, bytes) || h->stream[about.stream] || !h->gpu[about.gpu].is_there)
		return;
	s = calloc(1, sizeof(*s));
	if (!s)
		return;
	TAME(about.source);
	TAME(about.set);
	TAME(about.chip);
	TAME(about.reason);
	s->about = about;
	s->name = calloc(about.names, sizeof(*s->name));
	s->id = calloc(about.names, sizeof(*s->id));
	s->is_unknown = calloc(about.names, sizeof(*s->is_unknown));
	if (!s->name || !s->id || !s->is_unknown) {
		health_stream_free(s);
		return;
	}
	memcpy(s->name, message + sizeof(about), about.names * sizeof(*s->name));
	for (unsigned i = 0; i < about.names; i++) {
		tame(s->name[i].name, NAME_BYTES);
		tame(s->name[i].unit, UNIT_BYTES);
		s->is_unknown[i] = true;
	}
	s->queue.place = sizeof(struct health_sample) + about.names * sizeof(double);
	s->period = about.real_mhz ? 1000000000000 / about.real_mhz : 0;
	h->stream[about.stream] = s;
	if (about.stream >= h->streams)
		h->streams = about.stream + 1u;
	replace_metrics(h, s);
}

static void take_event(struct health *h, const char *message, size_t bytes)
{
	struct health_event *e;

	if (bytes != sizeof(e->about) || h->events == HEALTH_EVENTS)
		return;
	if (!h->event)
		h->event = calloc(HEALTH_EVENTS, sizeof(*h->event));
	if (!h->event)
		return;
	e = &h->event[h->events];
	memcpy(&e->about, message, sizeof(e->about));
	if (e->about.gpu >= HEALTH_GPUS || !h->gpu[e->about.gpu].is_there || e->about.mono < 0)
		return;
	TAME(e->about.what);
	h->events++;
}

static void take_note(struct health *h, const char *message, size_t bytes)
{
	struct probe_note note;

	if (bytes != sizeof(note))
		return;
	memcpy(&note, message, sizeof(note));
	TAME(note.text);
	if (*note.text)
		h->ask.say(h->ask.ctx, note.severity == 1 ? 1 : 2, note.text);
}

static void take_hello(struct health *h, const char *message, size_t bytes)
{
	struct probe_hello hello;

	if (bytes != sizeof(hello))
		return;
	memcpy(&hello, message, sizeof(hello));
	h->process.has_hello = hello.version == PROBE_VERSION;
	if (!h->process.has_hello)
		health_say(h, 2, "GPUs are not sampled: sl-gpu is of another version");
}

static void take(struct health *h, const char *message, size_t bytes)
{
	uint32_t kind;

	if (bytes < sizeof(kind))
		return;
	memcpy(&kind, message, sizeof(kind));
	if (kind == PROBE_HELLO)
		take_hello(h, message, bytes);
	if (!h->process.has_hello)
		return;
	switch (kind) {
	case PROBE_GPU:
		take_gpu(h, message, bytes);
		break;
	case PROBE_STREAM:
		take_stream(h, message, bytes);
		break;
	case PROBE_EVENT:
		take_event(h, message, bytes);
		break;
	case PROBE_NOTE:
		take_note(h, message, bytes);
		break;
	case PROBE_READY:
		h->process.is_ready = true;
		break;
	default:
		break;
	}
}

bool health_messages(struct health *h)
{
	char message[PROBE_MESSAGE_MAX];

	if (h->process.socket < 0)
		return false;
	/* No more than a number of them: a process that only writes must not keep the collector here. */
	for (int i = 0; i < 1024; i++) {
		ssize_t n =
			recv(h->process.socket, message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		if (n == 0)
			return false;
		if ((size_t)n <= sizeof(message))
			take(h, message, (size_t)n);
	}
	return true;
}

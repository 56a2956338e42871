/* capture_options.c - checks --capture-range and its companions. Words of nsys have the meaning that nsys gives them. */
#include "collector/options/capture_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/message.h"
#include "collector/options/trigger.h"

#define FLIGHT_BYTES (INT64_C(256) << 20)
#define FLIGHT_MIN   INT64_C(10000000)
#define FLIGHT_MAX   (86400 * INT64_C(1000000000))

static int wrong(const char *cmd, const char *option, const char *takes, const char *got)
{
	sl_warn("%s: option '--%s' takes %s, not '%s' (see 'sightline %s --help')", cmd, option,
		takes, got, cmd);
	return -SL_EXIT_USAGE;
}

static bool word_is(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && strncasecmp(text, word, len) == 0;
}

static int read_range(struct capture_options *o, const char *text, const char *cmd)
{
	size_t len = strlen(text);

	if (word_is(text, len, "cudaProfilerApi"))
		o->by = SL_CAPTURE_BY_CUDA;
	else if (word_is(text, len, "nvtx"))
		o->by = SL_CAPTURE_BY_NVTX;
	else if (word_is(text, len, "hotkey"))
		o->by_hotkey = true;
	else if (!word_is(text, len, "none"))
		return wrong(cmd, "capture-range", "none, cudaProfilerApi, nvtx or hotkey", text);
	return 0;
}

/* The parts after the mode: a number of captures, and when the call returns; in any order. */
static bool read_end_details(struct capture_options *o, const char *p)
{
	while (*p == ':') {
		size_t len = strcspn(++p, ":");
		char *end;

		if (word_is(p, len, "defer")) {
			o->wait = CAPTURE_WAIT_DEFER;
		} else if (word_is(p, len, "sync")) {
			o->wait = CAPTURE_WAIT_SYNC;
		} else if (word_is(p, len, "async")) {
			o->wait = CAPTURE_WAIT_ASYNC;
		} else {
			errno = 0;
			o->repeat = strtol(p, &end, 10);
			if (end != p + len || !len || errno || o->repeat < 1)
				return false;
		}
		p += len;
	}
	return *p == 0;
}

static int read_range_end(struct capture_options *o, const char *text, const char *cmd)
{
	static const struct {
		const char *word;
		enum capture_end_mode mode;
	} modes[] = {{"none", CAPTURE_END_NONE},
		     {"stop", CAPTURE_END_STOP},
		     {"stop-shutdown", CAPTURE_END_STOP_SHUTDOWN},
		     {"repeat", CAPTURE_END_REPEAT},
		     {"repeat-shutdown", CAPTURE_END_REPEAT_SHUTDOWN},
		     {"pause", CAPTURE_END_PAUSE}};
	size_t len = strcspn(text, ":");
	bool known = false;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) && !known; i++) {
		known = word_is(text, len, modes[i].word);
		if (known)
			o->end = modes[i].mode;
	}
	known = known && read_end_details(o, text + len);
	if (o->repeat && o->end != CAPTURE_END_REPEAT && o->end != CAPTURE_END_REPEAT_SHUTDOWN)
		known = false;
	if (o->end == CAPTURE_END_REPEAT_SHUTDOWN && !o->repeat)
		known = false;
	if (known)
		return 0;
	return wrong(cmd, "capture-range-end",
		     "none, stop, stop-shutdown, repeat[:N], repeat-shutdown:N or pause, each also "
		     "with :sync or :defer",
		     text);
}

/* "range", "range@domain", "range@*"; an @ that belongs to the range is written \@. */
static int read_nvtx(struct capture_options *o, const char *text, const char *cmd)
{
	char *to = o->nvtx_range;
	size_t at = 0;

	for (const char *p = text; *p; p++) {
		if (*p == '\\' && p[1] == '@') {
			p++;
		} else if (*p == '@' && to == o->nvtx_range) {
			to[at] = 0;
			to = o->nvtx_domain;
			at = 0;
			continue;
		}
		if (at + 1 >= SL_CAPTURE_NAME_BYTES)
			return wrong(cmd, "nvtx-capture", "names of at most 119 bytes", text);
		to[at++] = *p;
	}
	to[at] = 0;
	if (!o->nvtx_range[0])
		return wrong(cmd, "nvtx-capture", "RANGE, RANGE@DOMAIN or RANGE@*", text);
	return 0;
}

bool capture_is_any_nvtx(const char *name, const char *value)
{
	return (strcmp(name, "SIGHTLINE_NVTX_REGISTER_ONLY") == 0 ||
		strcmp(name, "NSYS_NVTX_PROFILER_REGISTER_ONLY") == 0) &&
	       value && strcmp(value, "0") == 0;
}

/* As the program would see it: in our environment, or by --env-var. */
static bool is_any_nvtx(const struct capture_words *w)
{
	static const char *const names[] = {"SIGHTLINE_NVTX_REGISTER_ONLY",
					    "NSYS_NVTX_PROFILER_REGISTER_ONLY"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (capture_is_any_nvtx(names[i], getenv(names[i])))
			return true;
	return w->any_nvtx;
}

/* "256M", "1G", "65536K"; a bare number is MiB. 0: not that. */
static int64_t read_size(const char *text)
{
	char *end;
	long long n = strtoll(text, &end, 10);
	unsigned shift;

	switch (*end) {
	case 'k':
	case 'K':
		shift = 10;
		break;
	case 'g':
	case 'G':
		shift = 30;
		break;
	case 0:
	case 'm':
	case 'M':
		shift = 20;
		break;
	default:
		return 0;
	}
	if (end == text || (*end && end[1] && strcmp(end + 1, "iB") != 0) || n < 1 ||
	    n > (INT64_C(1) << 44) >> shift)
		return 0;
	return n << shift;
}

static int read_flight(struct capture_options *o, const struct capture_words *w, const char *cmd)
{
	static struct triggers triggers;
	const char *end;

	o->triggers = w->triggers;
	o->flight_bytes = FLIGHT_BYTES;
	if (w->flight) {
		o->flight_ns = time_read(w->flight, &end);
		if (!o->flight_ns || *end || o->flight_ns < FLIGHT_MIN || o->flight_ns > FLIGHT_MAX)
			return wrong(cmd, "flight",
				     "a time such as 30s, 500ms or 2m, from 10ms to 24 hours",
				     w->flight);
	}
	if (w->flight_size) {
		o->flight_bytes = read_size(w->flight_size);
		if (o->flight_bytes < 1 << 20)
			return wrong(cmd, "flight-size", "a size such as 256M or 1G, from 1M",
				     w->flight_size);
	}
	if (!o->flight_ns && (w->flight_size || w->triggers)) {
		sl_warn("%s: '--%s' belongs to the flight recorder: give --flight=TIME too", cmd,
			w->flight_size ? "flight-size" : "trigger");
		return -SL_EXIT_USAGE;
	}
	if (o->flight_ns && (o->by || o->by_hotkey || o->delay_s || o->start_later)) {
		sl_warn("%s: '--flight' and '--%s' exclude each other: the recorder runs all the "
			"time (see --trigger)",
			cmd,
			o->by || o->by_hotkey ? "capture-range"
			: o->delay_s          ? "delay"
					      : "start-later");
		return -SL_EXIT_USAGE;
	}
	return w->triggers ? triggers_read(&triggers, w->triggers, cmd) : 0;
}

static int read_hotkey(struct capture_options *o, const char *text, const char *cmd)
{
	char *end;
	long n = text[0] == 'F' || text[0] == 'f' ? strtol(text + 1, &end, 10) : 0;

	if (!(text[0] && !text[1]) && !(n >= 1 && n <= 12 && !*end))
		return wrong(cmd, "hotkey-capture", "F1 to F12, or one character", text);
	o->hotkey = text;
	return 0;
}

int capture_options_read(struct capture_options *o, const struct capture_words *w, const char *cmd)
{
	int rc = 0;

	*o = (struct capture_options){.end = CAPTURE_END_STOP_SHUTDOWN,
				      .hotkey = "F12",
				      .delay_s = w->delay_s,
				      .start_later = w->start_later};
	if (w->range)
		rc = read_range(o, w->range, cmd);
	if (!rc && w->range_end)
		rc = read_range_end(o, w->range_end, cmd);
	if (!rc && w->nvtx && o->by & SL_CAPTURE_BY_NVTX)
		rc = read_nvtx(o, w->nvtx, cmd);
	if (o->by & SL_CAPTURE_BY_NVTX && is_any_nvtx(w))
		o->by |= SL_CAPTURE_NVTX_PLAIN;
	if (!rc && w->hotkey)
		rc = read_hotkey(o, w->hotkey, cmd);
	if (!rc)
		rc = read_flight(o, w, cmd);
	if (rc)
		return rc;
	if (o->by & SL_CAPTURE_BY_NVTX && !o->nvtx_range[0]) {
		sl_warn("%s: '--capture-range=nvtx' needs the range's name: --nvtx-capture=RANGE "
			"or RANGE@DOMAIN",
			cmd);
		return -SL_EXIT_USAGE;
	}
	if (w->nvtx && !(o->by & SL_CAPTURE_BY_NVTX)) {
		sl_warn("%s: '--nvtx-capture' has no effect without --capture-range=nvtx", cmd);
		return -SL_EXIT_USAGE;
	}
	return 0;
}

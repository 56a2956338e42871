/*
 * source_pm.c - PM sampling of CUPTI as a source: hardware metrics at up to 200 kHz, with the driver's permission, and for one
 * client at a time.
 */
#include "collector/probe/nvml.h"
#include "collector/probe/pm_session.h"

#include <stdlib.h>
#include <string.h>

#define NS            1000000000
#define OVERFLOWS     3 /* so many in OVERFLOW_NS: half the rate */
#define OVERFLOW_NS   (10ll * NS)
#define SETTLE_NS     (2ll * NS) /* a rate by cycles is looked at again after that */
#define LEAST_HZ      10
#define FILE_PREFIX   "file:"
#define LOCKED_PERMIL 30

struct pm {
	struct pm_device device;
	struct pm_session session;
	struct pm_wants wants;
	struct pm_flow flow;
	char set[32];
	char reason[SOURCE_WHY]; /* why not the set or the rate that was asked for */
	int64_t asked_hz;
	int64_t overflow[OVERFLOWS]; /* the last ones */
	unsigned overflows;
	bool has_said;
	int64_t settled; /* when the rate was last looked at */
	int locked;
};

/* ---- the metrics ---- */

static bool read_file(struct pm *p, const char *path, struct source_why *why)
{
	char text[SOURCE_WHY];

	if (pm_wants_of_file(&p->wants, path, text, sizeof(text)) == 0) {
		snprintf(p->set, sizeof(p->set), "file");
		return true;
	}
	snprintf(why->text, sizeof(why->text), "%s", text);
	why->is_final = true;
	return false;
}

/* The chip's general set, unless another one of it is asked for. */
static bool choose_set(struct pm *p, const char *set, struct source_why *why)
{
	const char *chip = p->device.chip;
	unsigned groups = set ? pm_groups_of(chip, set) : 0;

	if (set && strncmp(set, FILE_PREFIX, strlen(FILE_PREFIX)) == 0)
		return read_file(p, set + strlen(FILE_PREFIX), why);
	if (groups) {
		snprintf(p->set, sizeof(p->set), "%s", set);
	} else {
		pm_alias(chip, p->set, sizeof(p->set));
		groups = pm_groups_of(chip, p->set);
		if (set)
			snprintf(p->reason, sizeof(p->reason), "%s is %s %s: %s instead", set,
				 pm_is_set(set) ? "a set of another chip than" : "no set of", chip,
				 p->set);
	}
	if (pm_wants_of_groups(&p->wants, groups) == 0)
		return true;
	snprintf(why->text, sizeof(why->text), "out of memory");
	return false;
}

/* Metrics of the user's own that are not sampled. */
static void note_lacks(const struct pm *p)
{
	char text[64], near[384] = "";

	if (strcmp(p->set, "file") != 0)
		return;
	for (unsigned i = 0; i < p->wants.cnt; i++) {
		int lack = p->session.config->lacks[i];

		if (lack == PM_THERE)
			continue;
		pm_lack_text(lack, text, sizeof(text));
		*near = 0;
		if (lack == PM_NO_SUCH)
			pm_near(&p->device.library->api, p->session.config,
				p->wants.at[i].spellings[0], near, sizeof(near));
		out_note(p->flow.out, 2, "GPU %u (%s): %s is not sampled: %s%s",
			 p->device.gpu->index, p->device.chip, p->wants.at[i].name, text, near);
	}
}

static bool describe(struct pm *p)
{
	const struct pm_config *c = p->session.config;
	struct probe_stream s = {
		.what = PROBE_METRICS,
		.clock = PROBE_MONOTONIC,
		.gpu = p->device.gpu->info.gpu,
		.source = "pm",
		.asked_mhz = p->asked_hz * 1000,
		.real_mhz = NS * 1000ll / p->session.rate.period,
		.clocks_locked = p->locked,
	};
	struct probe_name *names = calloc(c->cnt, sizeof(*names));
	bool ok;

	snprintf(s.set, sizeof(s.set), "%s", p->set);
	snprintf(s.chip, sizeof(s.chip), "%s", p->device.chip);
	snprintf(s.reason, sizeof(s.reason), "%s", p->reason);
	for (unsigned i = 0; names && i < c->cnt; i++)
		snprintf(names[i].name, sizeof(names[i].name), "%s", p->wants.at[c->want[i]].name);
	ok = names && out_stream(p->flow.out, &s, names, c->cnt);
	p->flow.stream = s.stream;
	free(names);
	return ok;
}

/* ---- clocks ---- */

static unsigned sm_clock(const struct pm *p)
{
	const struct probe_gpu *g = p->device.gpu;
	unsigned mhz = 0;

	return g->nvml && g->nvml->clock && !g->nvml->clock(g->device, NVML_CLOCK_SM, &mhz) ? mhz
											    : 0;
}

/* Sampling may hold the clocks at a fixed rate: programs then run at another speed than without sampling. */
static void look_at_clocks(struct pm *p, unsigned before)
{
	unsigned after = sm_clock(p), off = after > before ? after - before : before - after;

	p->locked = before && after ? 0 : -1;
	if (!before || !after || off * 1000 <= before * LOCKED_PERMIL)
		return;
	p->locked = 1;
	out_note(p->flow.out, 2,
		 "GPU %u: the SM clock went from %u to %u MHz as sampling began: sampling may hold "
		 "it there",
		 p->device.gpu->index, before, after);
}

/* ---- starts ---- */

/* Also again, with another rate: a new stream then has it. */
static bool begin(struct pm *p, struct source_why *why)
{
	if (!pm_session_start(&p->session, why))
		return false;
	pm_flow_start(&p->flow, &p->session);
	p->settled = p->flow.since;
	/* Until the rate is known, samples are counted only. */
	p->flow.is_silent = !p->session.rate.is_measured;
	if (p->flow.is_silent || describe(p))
		return true;
	snprintf(why->text, sizeof(why->text), "too many streams");
	return false;
}

static bool again(struct pm *p, enum probe_why gap, struct source_why *why)
{
	pm_session_stop(&p->session);
	if (!p->flow.gap)
		p->flow.gap = gap;
	return begin(p, why);
}

static void close_pm(void *source)
{
	struct pm *p = source;

	if (p->session.is_started)
		pm_decode(&p->flow, &p->session);
	if (p->session.device)
		pm_session_stop(&p->session);
	if (p->device.library) {
		pm_lock();
		pm_config_free(&p->device.library->api, p->session.config);
		pm_unlock();
		pm_device_close(&p->device);
	}
	pm_wants_free(&p->wants);
	free(p);
}

static bool configure(struct pm *p, struct source_why *why)
{
	char text[SOURCE_WHY - 32];

	pm_lock();
	p->session.config = pm_config_new(&p->device.library->api, p->device.chip,
					  p->device.availability, &p->wants, text, sizeof(text));
	pm_unlock();
	if (p->session.config)
		return true;
	snprintf(why->text, sizeof(why->text), "%s", text);
	return false;
}

/* Limits the rate to the requested one, and to the one that readers of the values can take. */
static void limit_rate(struct pm *p, const struct source_want *want)
{
	int64_t hz = want->hz, most = want->rows / p->session.config->cnt;

	if (want->reason && !*p->reason)
		snprintf(p->reason, sizeof(p->reason), "%s", want->reason);
	if (want->rows > 0 && hz > most) {
		hz = most < LEAST_HZ ? LEAST_HZ : most;
		snprintf(p->reason, sizeof(p->reason),
			 "%u metrics at %lld Hz are more than the report takes: %lld Hz",
			 p->session.config->cnt, (long long)want->hz, (long long)hz);
	}
	pm_rate_init(&p->session.rate, p->device.chip, hz);
}

static void *open_pm(struct probe_gpu *gpu, const struct source_want *want, struct out *out,
		     struct source_why *why)
{
	struct pm *p = calloc(1, sizeof(*p));
	unsigned clock;

	if (!p) {
		snprintf(why->text, sizeof(why->text), "out of memory");
		return NULL;
	}
	p->flow.out = out;
	p->asked_hz = want->hz;
	if (!pm_device_open(&p->device, gpu, out, why) || !pm_device_check(&p->device, why))
		goto fail;
	if (p->device.library->api.version < PM_APPEND_MODE && !pm_device_alone(&p->device)) {
		snprintf(why->text, sizeof(why->text),
			 "CUPTI before CUDA 12.8 mixes the samples of several GPUs up");
		goto fail;
	}
	if (!choose_set(p, want->set, why) || !pm_device_available(&p->device, why) ||
	    !configure(p, why))
		goto fail;
	note_lacks(p);
	if (p->device.has_context)
		out_note(out, 1,
			 "GPU %u: the driver names the chip for a process with a context alone: "
			 "sl-gpu has made one, which takes some of the GPU's memory",
			 gpu->index);
	p->session.device = &p->device;
	limit_rate(p, want);
	clock = sm_clock(p);
	p->locked = -1;
	if (!begin(p, why))
		goto fail;
	look_at_clocks(p, clock);
	out_patience(out, 0);
	return p;
fail:
	close_pm(p);
	out_patience(out, 0);
	return NULL;
}

/* ---- while it samples ---- */

/* The buffer was full: from anew, and from the third one in ten seconds on at half the rate. */
static bool overflowed(struct pm *p, struct source_why *why)
{
	int64_t now = out_now(), *oldest = &p->overflow[p->overflows++ % OVERFLOWS];
	struct pm_rate *r = &p->session.rate;

	*oldest = now;
	oldest = &p->overflow[p->overflows % OVERFLOWS];
	p->flow.is_overflow = false;
	p->flow.gap = PROBE_OVERFLOW;
	if (p->overflows >= OVERFLOWS && now - *oldest < OVERFLOW_NS && r->hz > LEAST_HZ) {
		int64_t hz = r->hz / 2 < LEAST_HZ ? LEAST_HZ : r->hz / 2;

		snprintf(p->reason, sizeof(p->reason),
			 "the buffer overflowed: %lld Hz instead of %lld", (long long)hz,
			 (long long)p->asked_hz);
		if (!p->has_said)
			out_note(p->flow.out, 2,
				 "GPU %u: its buffer of samples overflows at %lld Hz: it is "
				 "sampled more slowly",
				 p->device.gpu->index, (long long)r->hz);
		p->has_said = true;
		p->overflows = 0;
		pm_rate_init(r, p->device.chip, hz);
	}
	return again(p, PROBE_OVERFLOW, why);
}

/* Cycles: the rate is looked at, at first at once, then now and then. */
static bool settle(struct pm *p, struct source_why *why)
{
	struct pm_rate *r = &p->session.rate;
	bool was_measured = r->is_measured;
	int64_t now = out_now();

	if (r->trigger == PM_TRIGGER_TIME || (was_measured && now - p->settled < SETTLE_NS))
		return true;
	if (pm_rate_seen(r, p->flow.samples, p->flow.ns))
		return again(p, PROBE_RESTART, why);
	p->settled = now;
	if (was_measured || !r->is_measured)
		return true;
	p->flow.is_silent = false;
	return describe(p);
}

static int64_t poll_pm(void *source, struct source_why *why)
{
	struct pm *p = source;
	int64_t wait = p->session.rate.period * 1000;
	int result = pm_decode(&p->flow, &p->session);
	bool ok = true;

	if (result == PM_OUT_OF_MEMORY || (!result && p->flow.is_overflow)) {
		ok = overflowed(p, why);
	} else if (result) {
		pm_explain(&p->device, why, "its samples cannot be read any more", result, true);
		ok = false;
	} else {
		ok = settle(p, why);
	}
	if (!ok) {
		if (p->flow.last_end)
			out_gap(p->flow.out, p->flow.stream, p->flow.last_end, out_now(),
				PROBE_LOST);
		return -1;
	}
	/* A round has a thousand samples: 10 to 100 ms. */
	return out_now() + (wait < NS / 100 ? NS / 100 : wait > NS / 10 ? NS / 10 : wait);
}

const struct source source_pm = {"pm", open_pm, poll_pm, close_pm};

/* ---- lists ---- */

void source_pm_print_sets(FILE *to)
{
	for (unsigned i = 0; i < pm_family_cnt; i++) {
		const struct pm_family *f = &pm_families[i];
		const char *what;
		char set[48];

		for (unsigned n = 0; pm_set_of(f->begins[0], n, set, sizeof(set), &what); n++)
			fprintf(to, "    %-13s: %s for %s (any frequency)\n", set, what, f->chips);
	}
}

bool source_pm_supports(struct probe_gpu *gpu, char chip[16], char *why, size_t why_len)
{
	struct source_why w = {.text = ""};
	struct pm_device d;
	bool ok = pm_device_open(&d, gpu, NULL, &w) && pm_device_check(&d, &w);

	memcpy(chip, d.chip, sizeof(d.chip));
	snprintf(why, why_len, "%s", w.text);
	pm_device_close(&d);
	return ok;
}

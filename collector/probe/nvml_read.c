/* nvml_read.c - one reading of a tier: a call for all its fields, then one for each other value. */
#include "collector/probe/nvml_read.h"

#include <math.h>
#include <string.h>

enum how {
	FIELD,
	LINKS, /* a field of all NVLinks together */
	POWER,
	CLOCK,
	MEMORY,
	USE,
	TEMPERATURE,
	POWER_LIMIT,
	PCIE,
};

static const struct {
	enum tier tier;
	enum how how;
	unsigned arg;
	const char *name, *unit;
	bool is_sum;
	double factor;
} COUNTER[] = {
#define COUNTER(tier, how, arg, name, unit, is_sum, factor) \
	{tier, how, arg, name, unit, is_sum, factor},
#include "collector/probe/nvml_counters.def"
};
#define COUNTERS (sizeof(COUNTER) / sizeof(COUNTER[0]))

/* A value as it was read. */
struct reading {
	unsigned ret;
	bool is_short; /* of 32 bits, which wrap */
	uint64_t raw;
};

static struct reading of_field(const struct nvml_field *f)
{
	struct reading r = {.ret = f->ret};

	switch (f->type) {
	case NVML_TYPE_DOUBLE:
		r.raw = isfinite(f->value.d) && f->value.d >= 0 && f->value.d < 9e18
				? (uint64_t)f->value.d
				: 0;
		break;
	case NVML_TYPE_UINT:
		r.raw = f->value.u;
		r.is_short = true;
		break;
	case NVML_TYPE_SINT:
		r.raw = f->value.si > 0 ? (uint64_t)f->value.si : 0;
		break;
	case NVML_TYPE_USHORT:
		r.raw = f->value.us;
		break;
	default:
		r.raw = f->value.ull;
	}
	return r;
}

static void read_fields(struct nvml_reader *r, const struct tier_state *t, struct reading *to)
{
	struct nvml_field field[TIER_MOST];
	unsigned index[TIER_MOST], cnt = 0, ret;
	const struct nvml *n = r->gpu->nvml;

	memset(field, 0, sizeof(field));
	for (unsigned i = 0; i < t->cnt; i++) {
		unsigned c = t->state[i].counter;

		if (COUNTER[c].how != FIELD && COUNTER[c].how != LINKS)
			continue;
		field[cnt].id = COUNTER[c].arg;
		field[cnt].scope = COUNTER[c].how == LINKS ? UINT32_MAX : 0;
		field[cnt].ret = NVML_UNKNOWN;
		index[cnt++] = i;
	}
	if (!cnt)
		return;
	ret = n->fields ? n->fields(r->gpu->device, (int)cnt, field) : NVML_FUNCTION_NOT_FOUND;
	for (unsigned i = 0; i < cnt; i++) {
		to[index[i]] = of_field(&field[i]);
		if (ret != NVML_SUCCESS)
			to[index[i]].ret = ret;
	}
}

static unsigned read_link(const struct nvml *n, nvml_device device, unsigned which, unsigned *to)
{
	enum nvml_return (*const call[])(nvml_device, unsigned *) = {
		n->link_generation, n->link_width, n->link_generation_most, n->link_width_most};

	return call[which] ? call[which](device, to) : NVML_FUNCTION_NOT_FOUND;
}

/* Values that come together are read once per tier. */
struct together {
	bool has_memory, has_use;
	unsigned memory_ret, use_ret;
	struct nvml_memory_v2 memory;
	struct nvml_utilization use;
};

static struct reading read_other(struct nvml_reader *r, unsigned c, struct together *all)
{
	const struct nvml *n = r->gpu->nvml;
	nvml_device d = r->gpu->device;
	struct reading out = {.ret = NVML_FUNCTION_NOT_FOUND};
	unsigned value = 0;

	switch (COUNTER[c].how) {
	case POWER:
		out.ret = n->power ? n->power(d, &value) : out.ret;
		break;
	case POWER_LIMIT:
		out.ret = n->power_limit ? n->power_limit(d, &value) : out.ret;
		break;
	case CLOCK:
		out.ret = n->clock ? n->clock(d, (int)COUNTER[c].arg, &value) : out.ret;
		break;
	case TEMPERATURE:
		out.ret = n->temperature ? n->temperature(d, 0, &value) : out.ret;
		break;
	case PCIE:
		out.ret = read_link(n, d, COUNTER[c].arg, &value);
		break;
	case MEMORY:
		if (!all->has_memory) {
			all->has_memory = true;
			all->memory.version = NVML_VERSION(nvml_memory_v2, 2);
			all->memory_ret = n->memory ? n->memory(d, &all->memory) : out.ret;
		}
		out.ret = all->memory_ret;
		out.raw = COUNTER[c].arg ? all->memory.reserved : all->memory.used;
		return out;
	case USE:
		if (r->has_samples) {
			out.ret = NVML_NOT_SUPPORTED;
			return out;
		}
		if (!all->has_use) {
			all->has_use = true;
			all->use_ret = n->utilization ? n->utilization(d, &all->use) : out.ret;
		}
		out.ret = all->use_ret;
		value = COUNTER[c].arg ? all->use.memory : all->use.gpu;
		break;
	default:
		break;
	}
	out.raw = value;
	return out;
}

static void read_all(struct nvml_reader *r, const struct tier_state *t, struct reading *to)
{
	struct together all = {0};

	read_fields(r, t, to);
	for (unsigned i = 0; i < t->cnt; i++) {
		enum how how = COUNTER[t->state[i].counter].how;

		if (how != FIELD && how != LINKS)
			to[i] = read_other(r, t->state[i].counter, &all);
	}
}

/* Bytes per second of a link of PCIe, both ends' view: one direction. */
static void learn_link(struct nvml_reader *r)
{
	static const double lane[] = {0,       0.25e9,  0.5e9,   0.985e9,
				      1.969e9, 3.938e9, 7.563e9, 15.125e9};
	const struct nvml *n = r->gpu->nvml;
	unsigned generation = 0, width = 0;

	if (read_link(n, r->gpu->device, 2, &generation) == NVML_SUCCESS &&
	    read_link(n, r->gpu->device, 3, &width) == NVML_SUCCESS &&
	    generation < sizeof(lane) / sizeof(*lane) && width <= 32)
		r->link = lane[generation] * width;
}

/*
 * Returns the increments since the reading before, at most @ns ago. Those of a 32-bit counter that
 * the link could have carried round more than once since then are unknown.
 */
static double sum_of(struct nvml_reader *r, struct counter_state *s, const struct reading *now,
		     int64_t ns)
{
	unsigned c = s->counter;
	bool is_pcie = COUNTER[c].how == FIELD && (COUNTER[c].arg == 197 || COUNTER[c].arg == 198);
	uint64_t before = s->raw;
	bool is_known = s->is_known;

	s->raw = now->raw;
	s->is_known = true;
	if (!is_known)
		return NAN;
	if (now->is_short) {
		if (is_pcie && (r->link <= 0 || r->link * (double)ns / 1e9 >= 4294967296.0))
			return NAN;
		return (double)(uint32_t)(now->raw - before) * COUNTER[c].factor;
	}
	return now->raw >= before ? (double)(now->raw - before) * COUNTER[c].factor : NAN;
}

static bool is_lost(unsigned ret)
{
	return ret == NVML_GPU_IS_LOST || ret == NVML_RESET_REQUIRED || ret == NVML_UNINITIALIZED;
}

/* Keeps counters that the GPU has, and of several with one name the first. */
static void keep(struct nvml_reader *r, enum tier tier, struct reading *reading)
{
	struct tier_state *t = &r->tier[tier];
	struct probe_name name[TIER_MOST] = {0};
	struct probe_stream stream = {.what = PROBE_COUNTERS,
				      .clock = PROBE_MONOTONIC,
				      .gpu = r->gpu->info.gpu,
				      .source = "nvml",
				      .asked_mhz = r->asked_mhz,
				      .real_mhz = tier == FAST     ? r->asked_mhz
						  : tier == MIDDLE ? 2000
								   : 1000,
				      .clocks_locked = -1};
	unsigned kept = 0;

	for (unsigned i = 0; i < t->cnt; i++) {
		unsigned c = t->state[i].counter;

		if (reading[i].ret != NVML_SUCCESS ||
		    (kept && !strcmp(name[kept - 1].name, COUNTER[c].name)))
			continue;
		snprintf(name[kept].name, sizeof(name->name), "%s", COUNTER[c].name);
		snprintf(name[kept].unit, sizeof(name->unit), "%s", COUNTER[c].unit);
		name[kept].is_sum = COUNTER[c].is_sum;
		reading[kept] = reading[i];
		t->state[kept++].counter = c;
	}
	t->cnt = kept;
	t->stream = kept && out_stream(r->out, &stream, name, kept) ? stream.stream : -2;
}

bool nvml_read(struct nvml_reader *r, enum tier tier)
{
	struct tier_state *t = &r->tier[tier];
	struct reading reading[TIER_MOST] = {0};
	double value[TIER_MOST];
	int64_t before = t->began, began, at;

	if (t->stream == -2)
		return true;
	if (t->stream == -1) {
		learn_link(r);
		for (unsigned c = 0; c < COUNTERS; c++)
			if (COUNTER[c].tier == tier && t->cnt < TIER_MOST)
				t->state[t->cnt++] = (struct counter_state){.counter = c};
	}
	began = out_now();
	read_all(r, t, reading);
	at = out_now();
	for (unsigned i = 0; i < t->cnt; i++)
		if (is_lost(reading[i].ret))
			return false;
	if (t->stream == -1)
		keep(r, tier, reading);
	if (t->stream < 0)
		return true;
	t->began = began;
	for (unsigned i = 0; i < t->cnt; i++) {
		unsigned c = t->state[i].counter;

		if (reading[i].ret != NVML_SUCCESS || reading[i].raw == UINT64_MAX)
			value[i] = NAN;
		else if (COUNTER[c].is_sum)
			value[i] = sum_of(r, &t->state[i], &reading[i], at - before);
		else
			value[i] = (double)reading[i].raw * COUNTER[c].factor;
	}
	at = began + (at - began) / 2;
	out_values(r->out, (unsigned)t->stream, at, at, value, t->cnt);
	return true;
}

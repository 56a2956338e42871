/* perfetto_sample.c - where threads were, as samples of perf: Perfetto draws flame graphs of them. */
#include "collector/base/hash.h"
#include "exporters/formats/perfetto.h"

#define FRAMES_MAX 1024 /* deeper stacks lose their outermost frames */

enum { /* PerfSample */
	PS_CPU = 1,
	PS_PID = 2,
	PS_TID = 3,
	PS_STACK = 4,
	PS_MODE = 5,
	MODE_KERNEL = 1,
	MODE_USER = 2,
};

enum { /* Frame, Mapping, Callstack, InternedString */
	FR_IID = 1,
	FR_FUNCTION = 2,
	FR_MAPPING = 3,
	FR_ADDRESS = 4,

	MP_IID = 1,
	MP_PATH = 7,

	ST_IID = 1,
	ST_FRAMES = 2,

	IS_IID = 1,
	IS_TEXT = 2,
};

static uint64_t string_iid(struct perfetto *pf, struct intern *in, unsigned kind,
			   const struct tl_text *t, bool *fresh)
{
	uint64_t iid = intern_text(in, t->id, t->text, t->len, fresh);
	size_t at;

	if (*fresh) {
		at = proto_open(&pf->interned, kind);
		proto_uint(&pf->interned, IS_IID, iid);
		proto_text(&pf->interned, IS_TEXT, t->text, t->len);
		proto_close(&pf->interned, at);
	}
	return iid;
}

/* A mapping has the number of its path: we know nothing else of it. */
static uint64_t module_iid(struct perfetto *pf, const struct tl_text *t)
{
	bool fresh;
	uint64_t iid = string_iid(pf, &pf->modules, PF_MAPPING_PATHS, t, &fresh);
	size_t at;

	if (fresh) {
		at = proto_open(&pf->interned, PF_MAPPINGS);
		proto_uint(&pf->interned, MP_IID, iid);
		proto_uint(&pf->interned, MP_PATH, iid);
		proto_close(&pf->interned, at);
	}
	return iid;
}

static uint64_t frame_iid(struct perfetto *pf, const struct tl_frame *f)
{
	bool fresh;
	uint64_t function = string_iid(pf, &pf->functions, PF_FUNCTION_NAMES, &f->symbol, &fresh);
	uint64_t key[3] = {function, module_iid(pf, &f->module), f->ip};
	uint64_t iid = intern_hashed(&pf->frames, hash_bytes(1, key, sizeof(key)), &fresh);
	size_t at;

	if (fresh) {
		at = proto_open(&pf->interned, PF_FRAMES);
		proto_uint(&pf->interned, FR_IID, iid);
		proto_uint(&pf->interned, FR_FUNCTION, key[0]);
		proto_uint(&pf->interned, FR_MAPPING, key[1]);
		proto_uint(&pf->interned, FR_ADDRESS, f->ip);
		proto_close(&pf->interned, at);
	}
	return iid;
}

static uint64_t stack_iid(struct perfetto *pf, const struct tl_frame *frames, uint32_t frame_cnt)
{
	struct proto *m = &pf->interned;
	uint64_t frame[FRAMES_MAX], iid;
	uint32_t cnt = frame_cnt < FRAMES_MAX ? frame_cnt : FRAMES_MAX;
	bool fresh;
	size_t at;

	for (uint32_t i = 0; i < cnt; i++)
		frame[i] = frame_iid(pf, &frames[i]);
	iid = intern_hashed(&pf->stacks, hash_bytes(2, frame, cnt * sizeof(*frame)), &fresh);
	if (fresh) {
		at = proto_open(m, PF_CALLSTACKS);
		proto_uint(m, ST_IID, iid);
		for (uint32_t i = cnt; i-- > 0;) /* the outermost first */
			proto_uint(m, ST_FRAMES, frame[i]);
		proto_close(m, at);
	}
	return iid;
}

uint64_t pf_callstack(struct perfetto *pf, const struct tl_event *e)
{
	const struct stack_costs *w = &pf->calls;
	uint32_t node = e->stack && pf->stack_iid ? stack_node(&pf->calls, e->stack) : 0;
	struct tl_frame frames[FRAMES_MAX];
	uint32_t cnt = 0;

	if (!node || pf->stack_iid[node])
		return node ? pf->stack_iid[node] : 0;
	for (uint32_t n = node; n && cnt < FRAMES_MAX; n = w->node[n].parent) {
		const struct stack_frame *f = &w->frame[w->node[n].frame];

		frames[cnt++] = (struct tl_frame){
			.symbol = {0, f->text, strlen(f->text)},
			.module = {0, f->module, strlen(f->module)},
			.kernel = f->kind == FRAME_KERNEL,
		};
	}
	return pf->stack_iid[node] = stack_iid(pf, frames, cnt);
}

/* Defined once where samples share stacks, however many there are. */
static uint64_t sample_stack_iid(struct perfetto *pf, const struct tl_event *e)
{
	uint64_t *at = e->stack ? map_at(&pf->sample_iid, (uint64_t)e->stack, true) : NULL;

	if (!at)
		return stack_iid(pf, e->frames, e->frame_cnt);
	if (*at == 0)
		*at = stack_iid(pf, e->frames, e->frame_cnt);
	return *at;
}

void pf_sample(struct perfetto *pf, const struct tl_event *e)
{
	struct proto *m = &pf->packet;
	size_t at;

	pf_begin_at(pf, e->ts);
	at = proto_open(m, PF_PERF_SAMPLE);
	if (e->cpu >= 0)
		proto_uint(m, PS_CPU, (uint64_t)e->cpu);
	proto_uint(m, PS_PID, (uint64_t)e->track->pid);
	proto_uint(m, PS_TID, (uint64_t)e->track->tid);
	if (e->frame_cnt > 0) {
		proto_uint(m, PS_STACK, sample_stack_iid(pf, e));
		proto_uint(m, PS_MODE, e->frames[0].kernel ? MODE_KERNEL : MODE_USER);
	}
	proto_close(m, at);
	pf_send(pf);
}

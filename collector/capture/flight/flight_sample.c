/*
 * flight_sample.c - see flight_sample.h.
 *
 * A part is a list of blocks with records, one behind the other, in the order in which they came: so a stack stands
 * before the samples that name it, and its mappings before it. No record is cut.
 */
#include "collector/capture/flight/flight_sample.h"

#include <stdlib.h>
#include <string.h>

#include "collector/report/db.h"

#define PARTS   8u /* in the time, at least; twice as many in the memory */
#define PART_NS 100000000
#define LEAST   (UINT64_C(256) << 10)
#define ENTRY   48u /* bytes by which a stack is known again, about */
#define WORD    sizeof(uint64_t)

enum kind {
	RECORD_SPACE,
	RECORD_MODULE,
	RECORD_CODE,
	RECORD_STACK,
	RECORD_ROW,
	RECORD_LOSSES,
};

struct record {
	uint32_t kind, words; /* with this */
};

struct space_record {
	struct record head;
	int64_t space, parent, global_pid;
};

struct module_record {
	struct record head;
	struct db_module module; /* path and build id: behind it */
	uint32_t path_len, pad;  /* with its 0 */
	char text[];
};

struct code_record {
	struct record head;
	struct db_code code; /* file, name and lines: behind it */
	uint32_t file_len, name_len;
	char text[];
};

struct stack_record {
	struct record head;
	int64_t id, space;
	uint64_t ns;
	uint64_t frames[];
};

struct row_record {
	struct record head;
	struct sample_row row;
};

struct losses_record {
	struct record head;
	int64_t ns;
	struct sample_losses losses;
};

struct block {
	struct block *next;
	size_t words, room;
	uint64_t word[];
};
#define BLOCK_WORDS ((SL_CHUNK_BYTES - sizeof(struct block)) / WORD)

struct flight_part {
	struct flight_part *next;
	struct block *first, *last;
	uint64_t bytes;
	int64_t begun;    /* CLOCK_MONOTONIC */
	uint64_t last_ns; /* of what is in it; 0: nothing yet */
};

/* ---- parts ---- */

size_t flight_sample_stacks(uint64_t bytes)
{
	return bytes / (2 * PARTS) / ENTRY;
}

void flight_sample_open(struct flight_sample *q, struct sample *sample, int64_t ns, uint64_t bytes)
{
	*q = (struct flight_sample){
		.sample = sample, .part_ns = ns / PARTS, .part_bytes = bytes / (2 * PARTS)};
	if (q->part_ns < PART_NS)
		q->part_ns = PART_NS;
	if (q->part_bytes < LEAST)
		q->part_bytes = LEAST;
}

static void drop_first(struct flight_sample *q)
{
	struct flight_part *p = q->first;

	for (struct block *b = p->first, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	q->bytes -= p->bytes;
	q->first = p->next;
	if (!q->first)
		q->last = NULL;
	free(p);
}

void flight_sample_release(struct flight_sample *q)
{
	while (q->first)
		drop_first(q);
	db_map_free(&q->codes);
	memset(q, 0, sizeof(*q));
}

/* Whatever comes is told anew. */
static void begin_part(struct flight_sample *q, int64_t now)
{
	struct flight_part *p = calloc(1, sizeof(*p));

	db_map_free(&q->codes);
	q->codes = (struct db_map){0};
	q->is_torn = !p;
	if (!p)
		return;
	p->begun = now;
	p->bytes = sizeof(*p);
	q->bytes += p->bytes;
	if (q->last)
		q->last->next = p;
	else
		q->first = p;
	q->last = p;
	sample_renew(q->sample);
}

/* What stood in the way is gone, perhaps: the last part has everything, or there is another one. */
static void look_after_part(struct flight_sample *q, int64_t now)
{
	const struct flight_part *p = q->last;

	if (!p || q->is_torn || p->bytes >= q->part_bytes || now - p->begun >= q->part_ns)
		begin_part(q, now);
}

uint64_t flight_sample_bytes(const struct flight_sample *q)
{
	return q->sample ? q->bytes + sample_bytes(q->sample) : 0;
}

static int64_t last_of(const struct flight_part *p)
{
	return p->last_ns ? (int64_t)p->last_ns : p->begun;
}

void flight_sample_look(const struct flight_sample *q, const struct clock_map *clock,
			struct flight_ages *ages)
{
	for (const struct flight_part *p = q->first; p; p = p->next)
		flight_ages_add(ages, clock_map_ticks(clock, last_of(p) + 1), p->bytes);
}

void flight_sample_forget(struct flight_sample *q, int64_t mono)
{
	while (q->first && last_of(q->first) < mono)
		drop_first(q);
}

/* ---- a sink ---- */

static struct block *add_block(struct flight_part *p, size_t words)
{
	size_t room = words > BLOCK_WORDS ? words : BLOCK_WORDS;
	struct block *b = malloc(sizeof(*b) + room * WORD);

	if (!b)
		return NULL;
	b->next = NULL;
	b->words = 0;
	b->room = room;
	if (p->last)
		p->last->next = b;
	else
		p->first = b;
	p->last = b;
	p->bytes += sizeof(*b) + room * WORD;
	return b;
}

/* Room for a record of @bytes. NULL: there is no memory, and this part is not whole. */
static void *add(struct flight_sample *q, enum kind kind, size_t bytes)
{
	struct flight_part *p = q->last;
	size_t words = (bytes + WORD - 1) / WORD;
	struct block *b = p && !q->is_torn ? p->last : NULL;
	uint64_t before = p ? p->bytes : 0;
	struct record *r;

	if (p && !q->is_torn && (!b || b->room - b->words < words)) {
		b = add_block(p, words);
		q->bytes += p->bytes - before;
	}
	if (!b) {
		q->is_torn = true;
		return NULL;
	}
	r = (void *)&b->word[b->words];
	b->words += words;
	r->kind = kind;
	r->words = (uint32_t)words;
	return r;
}

static void put_space(void *to, int64_t space, int64_t parent, int64_t global_pid)
{
	struct space_record *r = add(to, RECORD_SPACE, sizeof(*r));

	if (!r)
		return;
	r->space = space;
	r->parent = parent;
	r->global_pid = global_pid;
}

static void put_module(void *to, const struct db_module *m)
{
	size_t len = strlen(m->path) + 1;
	struct module_record *r = add(to, RECORD_MODULE, sizeof(*r) + len + m->build_id_len);

	if (!r)
		return;
	r->module = *m;
	r->path_len = (uint32_t)len;
	memcpy(r->text, m->path, len);
	if (m->build_id_len)
		memcpy(r->text + len, m->build_id, m->build_id_len);
}

/* Told with each of its frames. */
static bool has_code(struct flight_sample *q, const struct db_code *c)
{
	int64_t *there = db_map_get(&q->codes, c->id);

	if (!there || *there > (int64_t)c->lines_len)
		return there != NULL;
	*there = (int64_t)c->lines_len + 1;
	return false;
}

static void put_code(void *to, const struct db_code *c)
{
	size_t file = strlen(c->file) + 1, name = strlen(c->name) + 1;
	struct code_record *r;

	if (has_code(to, c))
		return;
	r = add(to, RECORD_CODE, sizeof(*r) + file + name + c->lines_len);
	if (!r)
		return;
	r->code = *c;
	r->file_len = (uint32_t)file;
	r->name_len = (uint32_t)name;
	memcpy(r->text, c->file, file);
	memcpy(r->text + file, c->name, name);
	if (c->lines_len)
		memcpy(r->text + file + name, c->lines, c->lines_len);
}

static void put_stack(void *to, int64_t id, int64_t space, uint64_t ns, const uint64_t *frames,
		      size_t cnt)
{
	struct stack_record *r = add(to, RECORD_STACK, sizeof(*r) + cnt * sizeof(*frames));

	if (!r)
		return;
	r->id = id;
	r->space = space;
	r->ns = ns;
	memcpy(r->frames, frames, cnt * sizeof(*frames));
}

static uint64_t end_of(const struct sample_row *row)
{
	return row->end_ns ? row->end_ns : row->ns;
}

static void put_row(void *to, const struct sample_row *row)
{
	struct flight_sample *q = to;
	struct row_record *r = add(q, RECORD_ROW, sizeof(*r));

	if (!r) {
		q->lost++;
		return;
	}
	r->row = *row;
	if (end_of(row) > q->last->last_ns)
		q->last->last_ns = end_of(row);
}

/* What is not is not told in this part any more; another one begins with the next poll. */
static bool has_it(void *to, int64_t id)
{
	(void)to;
	(void)id;
	return true;
}

static const struct sample_sink_ops ops = {.space = put_space,
					   .module = put_module,
					   .code = put_code,
					   .stack = put_stack,
					   .row = put_row,
					   .has_space = has_it,
					   .has_stack = has_it};

/* ---- losses ---- */

static struct sample_losses minus(const struct sample_losses *a, const struct sample_losses *b)
{
	return (struct sample_losses){.samples = a->samples - b->samples,
				      .lost = a->lost - b->lost,
				      .truncated = a->truncated - b->truncated,
				      .broken = a->broken - b->broken,
				      .python = a->python - b->python,
				      .away = a->away - b->away,
				      .away_full = a->away_full - b->away_full,
				      .away_crowd = a->away_crowd - b->away_crowd,
				      .away_truncated = a->away_truncated - b->away_truncated,
				      .away_broken = a->away_broken - b->away_broken};
}

static void add_losses(struct sample_losses *to, const struct sample_losses *what)
{
	to->lost += what->lost;
	to->truncated += what->truncated;
	to->broken += what->broken;
	to->python += what->python;
	to->away_full += what->away_full;
	to->away_crowd += what->away_crowd;
	to->away_truncated += what->away_truncated;
	to->away_broken += what->away_broken;
}

/* They have the time of the poll that has shown them. */
static void note_losses(struct flight_sample *q, int64_t now)
{
	struct sample_losses all = sample_losses(q->sample), more = minus(&all, &q->seen);
	struct losses_record *r;

	q->seen.samples = all.samples;
	q->seen.away = all.away;
	if (!more.lost && !more.truncated && !more.broken && !more.python && !more.away_full &&
	    !more.away_crowd && !more.away_truncated && !more.away_broken)
		return;
	r = add(q, RECORD_LOSSES, sizeof(*r));
	if (!r)
		return;
	r->ns = now;
	r->losses = more;
	q->seen = all;
}

void flight_sample_poll(struct flight_sample *q, int64_t now, bool all)
{
	const struct sample_sink sink = {&ops, q};

	look_after_part(q, now);
	sample_poll(q->sample, &sink, NULL, all);
	note_losses(q, now);
}

/* ---- a report ---- */

struct telling {
	struct flight_sample *q;
	const struct sample_sink *sink;
	uint64_t from, to;
	struct db_map stacks;  /* that samples of this report have */
	struct db_map modules; /* told already, by their hash */
};

/* @take is given every record of every part. */
static void each(struct telling *t, void (*take)(struct telling *, struct record *))
{
	for (const struct flight_part *p = t->q->first; p; p = p->next)
		for (struct block *b = p->first; b; b = b->next)
			for (size_t at = 0; at < b->words;) {
				struct record *r = (void *)&b->word[at];

				at += r->words;
				take(t, r);
			}
}

static bool is_in(const struct telling *t, const struct sample_row *row)
{
	/* What lasts has its part of each report. */
	return (row->end_ns ? row->end_ns > t->from : row->ns >= t->from) && row->ns < t->to;
}

static void mark(struct telling *t, struct record *r)
{
	const struct row_record *row = (const void *)r;
	int64_t *stack;

	if (r->kind != RECORD_ROW || !is_in(t, &row->row) || row->row.stack == DB_NULL)
		return;
	stack = db_map_get(&t->stacks, row->row.stack);
	if (stack)
		*stack = 1;
}

static bool is_marked(const struct telling *t, int64_t stack)
{
	return t->stacks.cnt && *db_map_peek(&t->stacks, stack);
}

/* Parts have the same ones. */
static bool is_first(struct telling *t, const struct db_module *m)
{
	uint64_t hash = (uint64_t)m->space;
	int64_t *there;

	hash = (hash ^ m->start) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 29 ^ m->end) * UINT64_C(0xd6e8feb86659fd93);
	hash = (hash ^ hash >> 31 ^ (uint64_t)m->since) * UINT64_C(0xa0761d6478bd642f);
	there = db_map_get(&t->modules, (int64_t)hash);
	if (!there)
		return true;
	return !(*there)++;
}

static void tell_module(struct telling *t, const struct module_record *r)
{
	struct db_module m = r->module;

	m.path = r->text;
	m.build_id = (const uint8_t *)r->text + r->path_len;
	if (is_first(t, &m))
		t->sink->ops->module(t->sink->to, &m);
}

static void tell_code(const struct telling *t, const struct code_record *r)
{
	struct db_code c = r->code;

	c.file = r->text;
	c.name = r->text + r->file_len;
	c.lines = (const uint8_t *)r->text + r->file_len + r->name_len;
	t->sink->ops->code(t->sink->to, &c);
}

static void tell_stack(const struct telling *t, const struct stack_record *r)
{
	if (is_marked(t, r->id))
		t->sink->ops->stack(t->sink->to, r->id, r->space, r->ns, r->frames,
				    r->head.words - sizeof(*r) / WORD);
}

/* When who still waits is back, that is told, too: of this one no report but one has its part. */
static void tell_row(struct telling *t, struct sample_row *r)
{
	struct sample_row row = *r;

	if (!is_in(t, r))
		return;
	if (!row.end_ns) {
		t->q->told.samples++;
	} else {
		t->q->told.away++;
		row.ns = row.ns > t->from ? row.ns : t->from;
		row.end_ns = row.end_ns < t->to ? row.end_ns : t->to;
	}
	t->sink->ops->row(t->sink->to, &row);
	if (r->still)
		r->ns = r->end_ns = 0;
}

/* Once: those of the time before are not in the next report. */
static void tell_losses(struct telling *t, struct losses_record *r)
{
	if ((uint64_t)r->ns >= t->from)
		add_losses(&t->q->told, &r->losses);
	memset(&r->losses, 0, sizeof(r->losses));
}

static void tell(struct telling *t, struct record *r)
{
	const struct sample_sink_ops *to = t->sink->ops;

	switch ((enum kind)r->kind) {
	case RECORD_SPACE: {
		const struct space_record *s = (const void *)r;

		to->space(t->sink->to, s->space, s->parent, s->global_pid);
		break;
	}
	case RECORD_MODULE:
		tell_module(t, (const void *)r);
		break;
	case RECORD_CODE:
		tell_code(t, (const void *)r);
		break;
	case RECORD_STACK:
		tell_stack(t, (const void *)r);
		break;
	case RECORD_ROW:
		tell_row(t, &((struct row_record *)r)->row);
		break;
	case RECORD_LOSSES:
		tell_losses(t, (void *)r);
		break;
	}
}

void flight_sample_tell(struct flight_sample *q, int64_t from, int64_t to,
			const struct sample_sink *sink)
{
	struct telling t = {.q = q, .sink = sink, .from = (uint64_t)from, .to = (uint64_t)to};

	each(&t, mark);
	each(&t, tell);
	db_map_free(&t.stacks);
	db_map_free(&t.modules);
}

/* place.c - the frame of a stack that a person would look at. */
#include "exporters/why/model/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/read/sql_rows.h"
#include "exporters/why/model/jit_name.h"

int places_open(struct places *p, sqlite3 *db)
{
	memset(p, 0, sizeof(*p));
	p->db = db;
	if (!grow(&p->list, p->cnt, &p->room, sizeof(*p->list)))
		return SQLITE_NOMEM;
	p->list[p->cnt++] = (struct place){0};
	return frames_open(&p->frames, db);
}

void places_close(struct places *p)
{
	frames_close(&p->frames);
	for (size_t i = 0; i < p->cnt; i++) {
		free(p->list[i].text);
		free(p->list[i].file);
		free(p->list[i].function);
	}
	free(p->list);
	free(p->of_stack);
	slots_free(&p->by_text);
}

/* ---- texts ---- */

/* The number of a place with this text, taken over; a new one unless it is there. */
static uint32_t intern(struct places *p, struct place *of)
{
	uint64_t hash = hash_text(of->text);
	uint32_t at, i;

	for (i = slots_first(&p->by_text, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&p->by_text, hash, &at))
		if (strcmp(p->list[i].text, of->text) == 0)
			return i;
	if (!grow(&p->list, p->cnt, &p->room, sizeof(*p->list)) ||
	    !slots_add(&p->by_text, hash, (uint32_t)p->cnt)) {
		p->has_failed = true;
		return PLACE_NONE;
	}
	p->list[p->cnt] = *of;
	*of = (struct place){0};
	return (uint32_t)p->cnt++;
}

/* Takes the texts of @t over. */
static int describe(struct place *to, const struct frame_row *row, struct frame_texts *t)
{
	const char *module = t->module ? frame_base_of(t->module) : "?";

	to->line = (int)row->line;
	to->function = t->symbol;
	to->file = t->file;
	t->symbol = t->file = NULL;
	if (!to->file && row->kind == FRAME_OF_PYTHON && t->module)
		to->file = strdup(t->module);
	if (to->file && to->line)
		return asprintf(&to->text, "%s:%d in %s", frame_base_of(to->file), to->line,
				to->function ? to->function : "?");
	if (!to->function)
		return asprintf(&to->text, "%s, without symbols", module);
	return asprintf(&to->text, "%s in %s", to->function, module);
}

static int describe_jit(struct place *to, const struct frame_row *row, struct frame_texts *t)
{
	struct jit_name n = jit_name(t->symbol);

	/* A jitdump has the line of each address, a name at most that of the function. */
	to->line = t->file ? (int)row->line : n.line;
	to->function = strndup(n.function, (size_t)n.function_len);
	to->file = t->file ? t->file : n.file ? strndup(n.file, (size_t)n.file_len) : NULL;
	t->file = NULL;
	if (!to->function)
		return -1;
	if (to->file && to->line)
		return asprintf(&to->text, "%s:%d in %s", frame_base_of(to->file), to->line,
				to->function);
	return asprintf(&to->text, "%s in %s", to->function,
			to->file ? frame_base_of(to->file) : "[JIT]");
}

/* The place of a frame. */
static uint32_t place_of_frame(struct places *p, struct frame *f)
{
	struct frame_texts texts;
	struct place made = {.is_own = f->rank == RANK_NATIVE || f->rank == RANK_PYTHON};
	uint32_t number = PLACE_NONE;
	int rc;

	if (f->place)
		return f->place - 1;
	texts = frames_texts(&p->frames, &f->row);
	rc = f->row.kind == FRAME_OF_JIT ? describe_jit(&made, &f->row, &texts)
					 : describe(&made, &f->row, &texts);
	if (rc >= 0) {
		number = intern(p, &made);
		f->place = number + 1;
	} else {
		made.text = NULL;
		p->has_failed = true;
	}
	frame_texts_free(&texts);
	free(made.text);
	free(made.file);
	free(made.function);
	return number;
}

uint32_t places_of_range(struct places *p, const char *name)
{
	struct place made = {.is_own = true};
	uint32_t number = PLACE_NONE;

	if (asprintf(&made.text, "range %s", name) >= 0)
		number = intern(p, &made);
	else
		made.text = NULL;
	p->has_failed |= number == PLACE_NONE;
	free(made.text);
	return number;
}

/* ---- stacks ---- */

/* On whose behalf the innermost frames ran, as far as they are known. */
enum runs_for {
	FOR_KERNEL, /* nothing yet: all are the kernel's */
	FOR_SYSTEM, /* libc's, which the program or the tracer called */
	FOR_HOOK,   /* libc was called by the tracer: on behalf of its caller */
	FOR_TRACER, /* the tracer's own code, or CUPTI's */
	FOR_PROGRAM,
};

/* With one frame more. */
static enum runs_for runs_for(enum runs_for so_far, enum frame_owner owner)
{
	if (so_far == FOR_TRACER || so_far == FOR_PROGRAM || owner == OWNER_KERNEL)
		return so_far;
	if (owner == OWNER_CUPTI)
		return FOR_TRACER;
	if (owner == OWNER_TRACER)
		return so_far == FOR_KERNEL ? FOR_TRACER : FOR_HOOK;
	return so_far != FOR_HOOK && owner == OWNER_LIBC ? FOR_SYSTEM : FOR_PROGRAM;
}

/* A stack whose frames come, the innermost first. */
struct stack_so_far {
	enum runs_for who;
	uint32_t best; /* frame; UINT32_MAX: none is a place */
	uint16_t flags;
	uint8_t rank, runner;
	bool has_frames, is_itself, is_fault, is_of_file;
};

#define NO_FRAMES ((struct stack_so_far){.best = UINT32_MAX})

static void add_frame(struct places *p, struct stack_so_far *s, uint32_t number)
{
	const struct frame *f = &p->frames.list[number];

	/* Code of the program's own module that an import runs is no import: it can be changed. */
	s->flags |= s->rank < RANK_PYTHON ? f->flags : f->flags & ~PLACE_IMPORT;
	s->runner = s->runner ? s->runner : f->runner;
	if (!s->has_frames) {
		s->flags |= f->first_flags;
		/* The compiler makes the code of a header part of the line that uses it. */
		s->is_itself = f->rank == RANK_NATIVE || f->rank == RANK_HEADER;
	}
	s->has_frames = true;
	s->who = runs_for(s->who, f->owner);
	s->is_fault |= f->is_fault;
	s->is_of_file |= f->is_of_file;
	if (f->rank > s->rank) {
		s->rank = f->rank;
		s->best = number;
	}
}

static struct place_of_stack end_of_stack(struct places *p, const struct stack_so_far *s)
{
	struct place_of_stack of = {.flags = s->flags, .runner = s->runner, .is_known = true};

	if (s->is_itself && s->rank == RANK_NATIVE)
		of.flags |= PLACE_ITSELF;
	if (s->who == FOR_TRACER)
		of.flags |= PLACE_TRACER;
	if (s->flags & PLACE_KERNEL && s->is_fault && !s->is_of_file)
		of.flags |= PLACE_TOUCH;
	if (s->best != UINT32_MAX)
		of.place = place_of_frame(p, &p->frames.list[s->best]);
	return of;
}

static struct place_of_stack *room_of(struct places *p, uint32_t number)
{
	size_t had = p->stack_room, want = (size_t)number + number / 2 + 256;
	void *more;

	if (number < had)
		return &p->of_stack[number];
	more = reallocarray(p->of_stack, want, sizeof(*p->of_stack));
	if (!more)
		return NULL;
	p->of_stack = more;
	memset(p->of_stack + had, 0, (want - had) * sizeof(*p->of_stack));
	p->stack_room = want;
	return &p->of_stack[number];
}

/* ---- one stack ---- */

struct one {
	struct places *p;
	struct stack_so_far stack;
};

static int one_row(void *ctx, sqlite3_value **v)
{
	struct one *o = ctx;
	struct frame_row row = frames_row(v);
	uint32_t number = frames_number(&o->p->frames, &row);

	if (number == UINT32_MAX)
		return SQLITE_NOMEM;
	add_frame(o->p, &o->stack, number);
	return SQLITE_OK;
}

static struct place_of_stack read_stack(struct places *p, int64_t id)
{
	struct one o = {p, NO_FRAMES};
	char from[160];

	snprintf(from, sizeof(from),
		 "(SELECT %s FROM SL_CHAIN_FRAMES WHERE stack = %lld ORDER BY depth)",
		 frame_columns, (long long)id);
	if (sql_values(p->db, frame_columns, from, one_row, &o) != SQLITE_OK)
		p->has_failed = true;
	return end_of_stack(p, &o.stack);
}

uint32_t places_of(struct places *p, uint32_t number, int64_t id, uint16_t *flags)
{
	struct place_of_stack *of = room_of(p, number);

	*flags = 0;
	if (!of) {
		p->has_failed = true;
		return PLACE_NONE;
	}
	if (!of->is_known && !p->are_all_read)
		*of = read_stack(p, id);
	*flags = of->flags;
	return of->place;
}

uint8_t places_runner(struct places *p, uint32_t number, int64_t id)
{
	uint16_t flags;

	places_of(p, number, id, &flags);
	return number < p->stack_room ? p->of_stack[number].runner : RUNNER_NONE;
}

/* ---- all stacks ---- */

struct all {
	struct places *p;
	const struct id_map *stacks; /* only these */
	int64_t id, depth;           /* of the row before */
	long number;                 /* of its stack; -1: not one of @stacks */
	struct stack_so_far stack;
	bool is_any,
		is_mixed; /* a row came; a stack began twice, or its frames were not in order */
};

static bool end_one(struct all *a)
{
	struct place_of_stack *of;

	if (!a->is_any || a->number < 0)
		return true;
	of = room_of(a->p, (uint32_t)a->number);
	if (of)
		*of = end_of_stack(a->p, &a->stack);
	return of;
}

/* stack, depth, frame_columns */
static int all_row(void *ctx, sqlite3_value **v)
{
	struct all *a = ctx;
	int64_t id = sqlite3_value_int64(v[0]), depth = sqlite3_value_int64(v[1]);
	struct frame_row row;
	uint32_t number;

	if (a->is_mixed)
		return SQLITE_OK;
	if (a->is_any && id == a->id && depth <= a->depth) {
		a->is_mixed = true;
		return SQLITE_OK;
	}
	if (!a->is_any || id != a->id) {
		if (!end_one(a))
			return SQLITE_NOMEM;
		a->number = id_map_find(a->stacks, id);
		a->is_mixed = a->number >= 0 && (size_t)a->number < a->p->stack_room &&
			      a->p->of_stack[a->number].is_known;
		a->stack = NO_FRAMES;
	}
	a->is_any = true;
	a->id = id;
	a->depth = depth;
	if (a->number < 0)
		return SQLITE_OK;
	row = frames_row(v + 2);
	number = frames_number(&a->p->frames, &row);
	if (number == UINT32_MAX)
		return SQLITE_NOMEM;
	add_frame(a->p, &a->stack, number);
	return SQLITE_OK;
}

/* The stacks of one table, in the order of its rows; where that is not the order of the stacks, sorted. */
static int read_part(void *ctx, const char *select)
{
	struct all *to = ctx;
	char columns[96], *from = NULL;
	int rc = SQLITE_OK;

	snprintf(columns, sizeof(columns), "stack, depth, %s", frame_columns);
	for (unsigned i = 0; i < 2 && rc == SQLITE_OK; i++) {
		struct all a = {.p = to->p, .stacks = to->stacks};

		from = sqlite3_mprintf(i ? "(%s ORDER BY 1, 2)" : "(%s)", select);
		rc = from ? sql_values(to->p->db, columns, from, all_row, &a) : SQLITE_NOMEM;
		sqlite3_free(from);
		if (rc != SQLITE_OK || !a.is_mixed) {
			if (rc == SQLITE_OK && !end_one(&a))
				rc = SQLITE_NOMEM;
			break;
		}
		memset(to->p->of_stack, 0, to->p->stack_room * sizeof(*to->p->of_stack));
	}
	return rc;
}

int places_read(struct places *p, const struct id_map *stacks)
{
	struct all a = {.p = p, .stacks = stacks};
	int rc;

	/* Tables with an index are read stack by stack. */
	if (!stacks->cnt || db_read_has(p->db, "SL_STACKS"))
		return SQLITE_OK;
	rc = db_read_chain_frames(p->db, read_part, &a);
	p->are_all_read = rc == SQLITE_OK;
	return rc;
}

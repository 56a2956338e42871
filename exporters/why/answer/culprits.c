/* culprits.c - the lines of the program that take the time. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/answer/why.h"

#define AGAIN 5 /* times that the same file is opened */

static bool is_own(const struct why *y, uint32_t place)
{
	return place != PLACE_NONE && y->walk.places.list[place].is_own;
}

/*
 * Does a program without lines, such as make or a shell, wait there for another one? What the other one does is due to its command,
 * and to no function of a tool.
 */
static bool is_tool(const struct why *y, const struct why_leaf *l, uint32_t hop)
{
	const struct why_hop *h = &y->walk.hops[hop];

	return !y->walk.places.list[h->cause.place].file &&
	       y->model.processes[l->process].command &&
	       y->model.threads[h->thread].process != l->process;
}

/* Code of another process without lines of its own: a command, whose functions are not the program's. */
static bool is_of_command(const struct why *y, const struct why_leaf *l)
{
	return l->cause.place != PLACE_NONE && !y->walk.places.list[l->cause.place].file &&
	       l->process != y->model.threads[y->focus].process &&
	       y->model.processes[l->process].command;
}

uint32_t why_line_of(const struct why *y, const struct why_leaf *l, uint32_t *process)
{
	const struct walk *w = &y->walk;

	*process = l->process;
	if (is_own(y, l->cause.place))
		return l->cause.place;
	for (uint32_t hop = l->hop; hop; hop = w->hops[hop].parent)
		if (is_own(y, w->hops[hop].cause.place) && !is_tool(y, l, hop)) {
			*process = w->m->threads[w->hops[hop].thread].process;
			return w->hops[hop].cause.place;
		}
	return is_of_command(y, l) ? PLACE_NONE : l->cause.place;
}

bool why_is_blamed(const struct why *y, const struct why_cause *cause, uint32_t line)
{
	if (cause->reason == WHY_IMPORT)
		return line < y->places_cnt && y->imports_again[line];
	return cause->reason != WHY_UNKNOWN && cause->reason != WHY_TRACER;
}

static bool is_code(const struct why *y, uint32_t object)
{
	static const char *const names[] = {"*.py", "*.pyc", "*.so", "*.so.*"};
	char *path = why_string(y, &y->model.objects, object);
	bool yes = false;

	for (size_t i = 0; path && i < sizeof(names) / sizeof(*names); i++)
		yes |= fnmatch(names[i], path, 0) == 0;
	free(path);
	return yes;
}

/* How often a process opens a file, counted over all lines: a short call has no stack of its own. */
struct opened {
	uint32_t process, object;
	int64_t times;
};

static int by_file(const void *a, const void *b)
{
	const struct opened *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->object > y->object) - (x->object < y->object);
}

/* Sorted, each once; @list has room for all leaves. */
static size_t count_opened(struct why *y, struct opened *list)
{
	size_t cnt = 0, kept = 0;

	for (size_t i = 0; i < y->walk.leaves_cnt; i++) {
		const struct why_leaf *l = &y->walk.leaves[i];

		if (l->calls && l->cause.object != WHY_NONE &&
		    reason_is_open(&y->walk, l->cause.name))
			list[cnt++] = (struct opened){l->process, l->cause.object, l->calls};
	}
	qsort(list, cnt, sizeof(*list), by_file);
	for (size_t i = 0; i < cnt; i++) {
		if (kept && by_file(&list[kept - 1], &list[i]) == 0)
			list[kept - 1].times += list[i].times;
		else
			list[kept++] = list[i];
	}
	return kept;
}

/* A module is imported once, mostly at the start; a line that imports a file which is opened many times is a culprit. */
static bool find_imports(struct why *y)
{
	struct opened *list = malloc((y->walk.leaves_cnt + 1) * sizeof(*list));
	size_t cnt = list ? count_opened(y, list) : 0;

	for (size_t i = 0; i < y->walk.leaves_cnt && list; i++) {
		const struct why_leaf *l = &y->walk.leaves[i];
		struct opened key = {.process = l->process, .object = l->cause.object}, *all;

		if (l->cause.reason != WHY_IMPORT || !is_own(y, l->cause.place))
			continue;
		all = bsearch(&key, list, cnt, sizeof(*list), by_file);
		if (all && all->times >= AGAIN && is_code(y, key.object))
			y->imports_again[l->cause.place] = true;
	}
	free(list);
	return list != NULL;
}

/* Does the kernel work there in a call such as fsync? Fewer such calls save that time too. */
static bool is_in_sync(struct why *y, const struct why_leaf *l)
{
	return l->cause.reason == WHY_KERNEL && l->cause.name != WHY_NONE &&
	       reason_of_name(&y->walk, l->cause.name, l->cause.object) == WHY_FSYNC;
}

static void add_to(struct why *y, struct why_culprit *c, const struct why_leaf *l)
{
	c->sure = (c->sure * (double)c->ns + l->sure * (double)l->ns) / (double)(c->ns + l->ns);
	c->ns += l->ns;
	c->itself += l->itself;
	c->in_sync += is_in_sync(y, l) ? l->ns : 0;
	c->of_reason[l->cause.reason] += l->ns;
	/* A wait for a CPU explains least. */
	if (l->ns <= c->part_ns && c->part.cause.reason != WHY_NO_CPU)
		return;
	if (l->cause.reason == WHY_NO_CPU && c->part_ns)
		return;
	c->part_ns = l->ns;
	c->part = (struct why_part){.cause = l->cause,
				    .process = l->process,
				    .thread = l->thread,
				    .hop = l->hop,
				    .ns = l->ns,
				    .cnt = l->cnt,
				    .disk = l->disk,
				    .disk_ns = l->disk_ns,
				    .sure = l->sure};
}

static void merge(struct why_culprit *to, struct why_culprit *from)
{
	to->sure = (to->sure * (double)to->ns + from->sure * (double)from->ns) /
		   (double)(to->ns + from->ns);
	to->ns += from->ns;
	to->itself += from->itself;
	to->in_sync += from->in_sync;
	for (unsigned r = 0; r < WHY_REASON_CNT; r++)
		to->of_reason[r] += from->of_reason[r];
	from->ns = 0;
}

int64_t why_weight(const struct why_culprit *c)
{
	return c->ns - c->of_reason[WHY_NO_CPU] - c->of_reason[WHY_GPU] -
	       c->of_reason[WHY_GPU_KERNEL];
}

static int by_weight(const void *a, const void *b)
{
	const struct why_culprit *x = a, *y = b;

	if (why_weight(x) != why_weight(y))
		return why_weight(x) < why_weight(y) ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->place > y->place) - (x->place < y->place);
}

static bool computes(const struct why_culprit *c)
{
	return 2 * (c->of_reason[WHY_COMPUTE] + c->of_reason[WHY_KERNEL] + c->of_reason[WHY_TOUCH] +
		    c->of_reason[WHY_NO_CPU]) >=
	       c->ns;
}

static bool same_function(const struct place *a, const struct place *b)
{
	return a->file && b->file && a->function && b->function &&
	       strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0;
}

/* A module is no loop, though one may stand there. */
static bool is_module(const struct place *p)
{
	return p->function && strcmp(p->function, "<module>") == 0;
}

bool why_is_in_child(const struct why *y, uint32_t hop, uint32_t line)
{
	for (; hop; hop = y->walk.hops[hop].parent)
		if (y->walk.hops[hop].cause.reason == WHY_CHILD &&
		    y->walk.hops[hop].cause.place == line)
			return true;
	return false;
}

static bool imports(const struct why_culprit *c)
{
	return why_main_reason(c) == WHY_IMPORT;
}

/*
 * Do two lines of a function count as one culprit? Both import, or both compute; lines of a module itself must also make
 * processes or wait for processes, as processes are made at one line and waited for at another.
 */
static bool belong_together(const struct why *y, const struct why_culprit *a,
			    const struct why_culprit *b)
{
	const struct place *x = &y->walk.places.list[a->place];

	return same_function(x, &y->walk.places.list[b->place]) &&
	       ((imports(a) && imports(b)) ||
		(computes(a) && computes(b) &&
		 (!is_module(x) || (a->is_of_processes && b->is_of_processes))));
}

/* The samples of a loop are spread over its lines: the first line, which has most of them, gets the time of the other lines. */
static void join_functions(struct why *y, uint32_t *joined)
{
	size_t cnt = y->culprits_cnt < 256 ? y->culprits_cnt : 256;

	for (size_t i = 0; i < cnt; i++) {
		if (!y->culprits[i].ns)
			continue;
		for (size_t k = i + 1; k < cnt; k++) {
			struct why_culprit *from = &y->culprits[k];

			if (!from->ns || !belong_together(y, &y->culprits[i], from))
				continue;
			merge(&y->culprits[i], from);
			joined[from->place] = y->culprits[i].place;
		}
	}
}

/* Calls of CUDA have stacks only with the option that records them. */
static bool lacks_stack(const struct why *y, const struct why_leaf *l)
{
	return !y->model.has_gpu_stacks && l->cause.reason >= WHY_GPU &&
	       l->cause.reason <= WHY_GPU_CALL;
}

/* Processes with the same command are one, by the first of them. */
static bool find_commands(struct why *y)
{
	const struct why_model *m = &y->model;
	struct slots by_command = {0};
	char(*names)[72] = calloc(m->processes_cnt + 1, sizeof(*names));
	bool ok = names;

	y->command_of = calloc(m->processes_cnt + 1, sizeof(*y->command_of));
	for (uint32_t i = 0; ok && y->command_of && i < m->processes_cnt; i++) {
		uint64_t hash = hash_text(why_command(y, i, names[i], sizeof(names[i])));
		uint32_t at, k;

		for (k = slots_first(&by_command, hash, &at); k != SLOTS_NONE;
		     k = slots_next(&by_command, hash, &at))
			if (strcmp(names[k], names[i]) == 0)
				break;
		y->command_of[i] = k == SLOTS_NONE ? i : k;
		if (k == SLOTS_NONE)
			ok = slots_add(&by_command, hash, i);
	}
	free(names);
	slots_free(&by_command);
	return ok && y->command_of;
}

/*
 * The group of a leaf without a line, by thread, reason and call or kernel, of other processes by command: index into culprit_of_group; WHY_NONE: none, or no
 * memory. With samples, what computes without a line is the start of a program or of its interpreter, and no culprit.
 */
static uint32_t group_of(struct why *y, const struct why_leaf *l, int *rc)
{
	const struct why_cause *c = &l->cause;
	bool is_other = l->process != y->model.threads[y->focus].process;
	uint32_t words[] = {is_other ? y->command_of[l->process] : l->thread, c->reason, c->name,
			    is_other};
	bool is_wait = c->name != WHY_NONE && c->reason != WHY_KERNEL && c->reason != WHY_NO_CPU;
	uint32_t number;

	if (y->model.has_samples && !lacks_stack(y, l) && !is_wait && !is_other)
		return WHY_NONE;
	/* A command is one culprit while it has a CPU or could use one. */
	if (is_other && !is_wait)
		words[1] = words[2] = WHY_NONE;
	number = tuples_add(&y->groups, words);
	if (number == WHY_NONE) {
		*rc = SQLITE_NOMEM;
	} else if (number == y->culprit_of_group_cnt) {
		if (!grow(&y->culprit_of_group, y->culprit_of_group_cnt, &y->culprit_of_group_room,
			  sizeof(*y->culprit_of_group))) {
			*rc = SQLITE_NOMEM;
			return WHY_NONE;
		}
		y->culprit_of_group[y->culprit_of_group_cnt++].number = 0;
	}
	return number;
}

/* The culprit that a leaf belongs to: its line's, else its group's. NULL: none; *@rc: not SQLITE_OK: no memory. */
static struct why_culprit *culprit_of(struct why *y, const struct why_leaf *l, int *rc)
{
	uint32_t process, place = why_line_of(y, l, &process), group = WHY_NONE,
			  *number = &y->culprit_of_place[place];

	if (place == PLACE_NONE) {
		group = group_of(y, l, rc);
		if (group == WHY_NONE)
			return NULL;
		number = &y->culprit_of_group[group].number;
	}
	if (!*number) {
		if (!grow(&y->culprits, y->culprits_cnt, &y->culprits_room, sizeof(*y->culprits))) {
			*rc = SQLITE_NOMEM;
			return NULL;
		}
		y->culprits[y->culprits_cnt++] =
			(struct why_culprit){.place = place, .process = process, .group = group};
		*number = (uint32_t)y->culprits_cnt;
	}
	return &y->culprits[*number - 1];
}

static int collect(struct why *y)
{
	const struct walk *w = &y->walk;
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < w->leaves_cnt; i++) {
		const struct why_leaf *l = &w->leaves[i];
		uint32_t process, line = why_line_of(y, l, &process);
		struct why_culprit *c =
			why_is_blamed(y, &l->cause, line) ? culprit_of(y, l, &rc) : NULL;

		if (c)
			add_to(y, c, l);
	}
	for (size_t i = 0; i < y->culprits_cnt; i++) {
		struct why_culprit *c = &y->culprits[i];

		c->is_of_processes = reason_is_of_processes(&y->walk, c->part.cause.name) ||
				     why_is_in_child(y, c->part.hop, c->place);
	}
	return rc;
}

/* Stores the index of the culprit of each place and group, after culprits were joined and sorted. */
static void number_culprits(struct why *y, const uint32_t *joined)
{
	memset(y->culprit_of_place, 0, y->places_cnt * sizeof(*y->culprit_of_place));
	for (size_t i = 0; i < y->culprit_of_group_cnt; i++)
		y->culprit_of_group[i].number = 0;
	for (size_t i = 0; i < y->culprits_cnt; i++) {
		const struct why_culprit *c = &y->culprits[i];

		if (c->place == PLACE_NONE)
			y->culprit_of_group[c->group].number = (uint32_t)i + 1;
		else
			y->culprit_of_place[c->place] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < y->places_cnt; i++)
		if (joined[i])
			y->culprit_of_place[i] = y->culprit_of_place[joined[i]];
}

bool why_is_idle(const struct why *y, const struct why_culprit *c)
{
	uint32_t reason = why_main_reason(c);

	return y->busy.is_moved && !c->part.hop && (reason == WHY_POLL || reason == WHY_SIGNAL);
}

/* Idle ones go behind the others. */
static bool put_idle_last(struct why *y)
{
	struct why_culprit *idle = calloc(y->culprits_cnt + 1, sizeof(*idle));
	size_t kept = 0, cnt = 0;

	for (size_t i = 0; idle && i < y->culprits_cnt; i++)
		if (why_is_idle(y, &y->culprits[i]))
			idle[cnt++] = y->culprits[i];
		else
			y->culprits[kept++] = y->culprits[i];
	if (cnt)
		memcpy(&y->culprits[kept], idle, cnt * sizeof(*idle));
	free(idle);
	return idle;
}

int why_find_culprits(struct why *y)
{
	uint32_t *joined; /* by place: the place that its time was joined to */
	size_t kept = 0;
	int rc = SQLITE_NOMEM;

	y->places_cnt = y->walk.places.cnt;
	y->culprit_of_place = calloc(y->places_cnt + 1, sizeof(*y->culprit_of_place));
	y->groups.width = 4;
	joined = calloc(y->places_cnt + 1, sizeof(*joined));
	y->imports_again = calloc(y->places_cnt + 1, sizeof(*y->imports_again));
	if (y->culprit_of_place && joined && y->imports_again && find_commands(y) &&
	    find_imports(y))
		rc = collect(y);
	if (rc == SQLITE_OK && y->culprits_cnt) {
		qsort(y->culprits, y->culprits_cnt, sizeof(*y->culprits), by_weight);
		join_functions(y, joined);
		qsort(y->culprits, y->culprits_cnt, sizeof(*y->culprits), by_weight);
	}
	for (size_t i = 0; i < y->culprits_cnt; i++)
		if (y->culprits[i].ns)
			y->culprits[kept++] = y->culprits[i];
	y->culprits_cnt = kept;
	if (rc == SQLITE_OK && y->busy.is_moved && !put_idle_last(y))
		rc = SQLITE_NOMEM;
	if (rc == SQLITE_OK)
		number_culprits(y, joined);
	free(joined);
	return rc;
}

uint32_t why_culprit_of(struct why *y, const struct why_leaf *l)
{
	uint32_t process, place = why_line_of(y, l, &process), number, group;
	int rc = SQLITE_OK;

	if (!why_is_blamed(y, &l->cause, place) || place >= y->places_cnt)
		return WHY_NONE;
	if (place == PLACE_NONE) {
		group = group_of(y, l, &rc);
		number = group == WHY_NONE ? 0 : y->culprit_of_group[group].number;
	} else {
		number = y->culprit_of_place[place];
	}
	return number ? number - 1 : WHY_NONE;
}

uint32_t why_main_reason(const struct why_culprit *c)
{
	uint32_t best = WHY_NO_CPU;
	int64_t most = 0;

	for (uint32_t r = 0; r < WHY_REASON_CNT; r++) {
		int64_t ns = c->of_reason[r];

		if (r == WHY_KERNEL)
			ns -= c->in_sync;
		else if (r == WHY_FSYNC)
			ns += c->in_sync;
		if (r != WHY_NO_CPU && ns > most) {
			best = r;
			most = ns;
		}
	}
	return best;
}

uint32_t why_cost_of(const struct why_culprit *c)
{
	struct why_culprit rest = *c;

	rest.of_reason[WHY_GPU] = rest.of_reason[WHY_GPU_KERNEL] = 0;
	return why_main_reason(&rest);
}

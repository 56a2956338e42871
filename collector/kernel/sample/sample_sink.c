/* sample_sink.c - samples into the report; see sample_sink.h. */
#include "collector/kernel/sample/sample_sink.h"

#include <string.h>

#include "collector/report/db.h"
#include "collector/report/db_stacks.h"
#include "collector/report/db_ids.h"
#include "collector/kernel/sched/sched.h"

static void put_space(void *to, int64_t space, int64_t parent, int64_t global_pid)
{
	const struct sample_report *r = to;

	db_space(r->db, space, parent, global_pid);
}

static void put_module(void *to, const struct db_module *m)
{
	const struct sample_report *r = to;
	struct db_module told = *m;

	/* Also before the report's time 0: of two at one address the time decides which came first. */
	told.since = m->since - r->zero;
	db_module(r->db, &told);
}

static void put_code(void *to, const struct db_code *c)
{
	const struct sample_report *r = to;

	db_code(r->db, c);
}

static void put_stack(void *to, int64_t id, int64_t space, uint64_t ns, const uint64_t *frames,
		      size_t cnt)
{
	const struct sample_report *r = to;

	db_stack(r->db, id, space, (int64_t)ns - r->zero, frames, cnt);
}

int64_t sample_report_stack(const struct sample_report *r, int64_t stack)
{
	int64_t number = stack == DB_NULL ? 0 : db_stack_number(r->db, stack);

	return number ? number : DB_NULL;
}

static void put_death(struct sample_report *r, const struct sample_row *what)
{
	int64_t *row = db_row(r->db, DB_SL_DEATHS);

	row[DEATH_TIMESTAMP] = (int64_t)what->ns - r->zero;
	row[DEATH_GLOBAL_TID] = GLOBAL_TID(what->pid, what->tid);
	row[DEATH_STACK_ID] = sample_report_stack(r, what->stack);
}

static void put_row(void *to, const struct sample_row *what)
{
	struct sample_report *r = to;
	int64_t ns = (int64_t)what->ns - r->zero, *row;

	if (what->end_ns && what->state == SCHED_STATE_TERMINATED) {
		put_death(r, what);
		return;
	}
	row = db_row(r->db, DB_COMPOSITE_EVENTS);

	row[SAMPLE_ID] = (int64_t)++r->cnt;
	row[SAMPLE_START] = ns;
	row[SAMPLE_CPU] = what->cpu == SAMPLE_CPU_UNKNOWN ? DB_NULL : what->cpu;
	row[SAMPLE_THREAD_STATE] = what->end_ns ? what->state : SCHED_STATE_RUNNING;
	row[SAMPLE_GLOBAL_TID] = GLOBAL_TID(what->pid, what->tid);
	row[SAMPLE_CPU_CYCLES] = !what->end_ns;
	row[SAMPLE_STACK_ID] = sample_report_stack(r, what->stack);
	row[SAMPLE_END] = what->end_ns ? (int64_t)what->end_ns - r->zero : DB_NULL;
	row[SAMPLE_HAS_GIL] =
		what->gil == SAMPLE_GIL_UNKNOWN ? DB_NULL : what->gil == SAMPLE_GIL_HELD;
	event_rows_add(&r->wrote[what->end_ns ? ROWS_OFF_CPU : ROWS_SAMPLE], ns);
}

static void put_fault(void *to, const struct sample_fault *f)
{
	struct sample_report *r = to;
	int64_t path = f->path ? db_string(r->db, f->path, strlen(f->path)) : DB_NULL,
		*row = db_row(r->db, DB_SL_PAGE_FAULTS);

	row[FAULT_START] = (int64_t)f->ns - r->zero;
	row[FAULT_GLOBAL_TID] = GLOBAL_TID(f->pid, f->tid);
	row[FAULT_ADDRESS] = (int64_t)f->address;
	row[FAULT_PATH_ID] = path;
	row[FAULT_OFFSET] = f->path ? (int64_t)f->offset : DB_NULL;
	row[FAULT_STACK_ID] = sample_report_stack(r, f->stack);
	event_rows_add(&r->wrote[ROWS_FAULT], (int64_t)f->ns - r->zero);
}

static bool has_space(void *to, int64_t space)
{
	const struct sample_report *r = to;

	return db_has_space(r->db, space);
}

static bool has_stack(void *to, int64_t id)
{
	const struct sample_report *r = to;

	return db_has_stack(r->db, id);
}

struct sample_sink sample_report_sink(struct sample_report *r)
{
	static const struct sample_sink_ops ops = {.space = put_space,
						   .module = put_module,
						   .code = put_code,
						   .stack = put_stack,
						   .row = put_row,
						   .fault = put_fault,
						   .has_space = has_space,
						   .has_stack = has_stack};

	return (struct sample_sink){&ops, r};
}

/* ---- a second reader ---- */

static void second_space(void *to, int64_t space, int64_t parent, int64_t global_pid)
{
	const struct sample_second *s = to;

	s->first.ops->space(s->first.to, space | SAMPLE_SECOND,
			    parent ? parent | SAMPLE_SECOND : parent, global_pid);
}

static void second_module(void *to, const struct db_module *m)
{
	const struct sample_second *s = to;
	struct db_module told = *m;

	told.space |= SAMPLE_SECOND;
	s->first.ops->module(s->first.to, &told);
}

static void second_code(void *to, const struct db_code *c)
{
	const struct sample_second *s = to;

	/* Its numbers begin elsewhere by themselves: pyoutside_new(). */
	s->first.ops->code(s->first.to, c);
}

static void second_stack(void *to, int64_t id, int64_t space, uint64_t ns, const uint64_t *frames,
			 size_t cnt)
{
	const struct sample_second *s = to;

	s->first.ops->stack(s->first.to, id | SAMPLE_SECOND, space | SAMPLE_SECOND, ns, frames,
			    cnt);
}

static bool second_has_space(void *to, int64_t space)
{
	const struct sample_second *s = to;

	return s->first.ops->has_space(s->first.to, space | SAMPLE_SECOND);
}

static bool second_has_stack(void *to, int64_t id)
{
	const struct sample_second *s = to;

	return s->first.ops->has_stack(s->first.to, id | SAMPLE_SECOND);
}

struct sample_sink sample_second_sink(struct sample_second *s)
{
	static const struct sample_sink_ops ops = {.space = second_space,
						   .module = second_module,
						   .code = second_code,
						   .stack = second_stack,
						   .has_space = second_has_space,
						   .has_stack = second_has_stack};

	return (struct sample_sink){&ops, s};
}

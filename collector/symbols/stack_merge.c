/* stack_merge.c - puts Python frames in the place of the interpreter frames that ran them. */
#include "collector/symbols/stack_merge.h"

#include <stdbool.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_one_of(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(text, *list) == 0)
			return true;
	return false;
}

enum stack_role stack_role(const char *function)
{
	static const char *const above[] = {"_PyFunction_Vectorcall", "_PyEval_Vector",
					    "_PyEval_EvalCode",       "_PyEval_EvalCodeWithName",
					    "PyEval_EvalCode",        "PyEval_EvalCodeEx",
					    "PyEval_EvalFrame",       "PyEval_EvalFrameEx",
					    "function_code_fastcall", NULL};
	static const char *const outside[] = {
		"Py_RunMain",        "Py_BytesMain", "Py_Main", "main",         "_start",
		"__libc_start_main", "clone",        "clone3",  "start_thread", NULL};

	if (begins(function, "_PyEval_EvalFrameDefault"))
		return STACK_LOOP;
	if (begins(function, "_TAIL_CALL_"))
		return STACK_TAIL;
	if (is_one_of(function, above))
		return STACK_ABOVE;
	if (is_one_of(function, outside) || begins(function, "PyRun_") ||
	    begins(function, "pymain_"))
		return STACK_OUTSIDE;
	return STACK_NATIVE;
}

struct merge {
	struct stack_part *to;
	size_t cnt;
	const struct stack_part *python;
	size_t at, pythons;
};

static void put(struct merge *m, const struct stack_part *p)
{
	m->to[m->cnt++] = *p;
}

static bool has_python(const struct merge *m)
{
	return m->at < m->pythons && m->python[m->at].role != STACK_REMARK;
}

/* Python's frames up to the next one that C entered. */
static void put_group(struct merge *m)
{
	while (has_python(m)) {
		put(m, &m->python[m->at]);
		if (m->python[m->at++].role == STACK_ENTRY)
			break;
	}
}

static void put_rest(struct merge *m)
{
	while (m->at < m->pythons)
		put(m, &m->python[m->at++]);
}

static size_t groups(const struct stack_part *python, size_t cnt)
{
	size_t found = 0;

	for (size_t i = 0; i < cnt && python[i].role != STACK_REMARK; i++)
		found += python[i].role == STACK_ENTRY || i + 1 == cnt ||
			 python[i + 1].role == STACK_REMARK;
	return found;
}

/* Of a loop made of functions the first one may be there beside the part that was in work: that is one. */
static bool is_tail_of_next(const struct stack_part *native, size_t cnt, size_t i)
{
	return native[i].role == STACK_TAIL && i + 1 < cnt && native[i + 1].role == STACK_LOOP;
}

static bool is_loop(const struct stack_part *native, size_t cnt, size_t i)
{
	return native[i].role == STACK_LOOP ||
	       (native[i].role == STACK_TAIL && !is_tail_of_next(native, cnt, i));
}

/* A part of the loop that has no symbol in a stripped interpreter: recognized by its caller. */
static bool may_be_loop(const struct stack_part *native, size_t cnt, size_t i)
{
	return native[i].role == STACK_UNNAMED && i + 1 < cnt && native[i + 1].role == STACK_ABOVE;
}

/*
 * The first and the last instructions of a loop run without a frame of Python: where there is one loop more than such frames, the innermost
 * loop is at these. Where either stack is cut, the missing frame is one at its end.
 */
static bool is_first_bare(const struct merge *m, size_t loops, size_t want, bool is_cut)
{
	return m->pythons && m->python[m->pythons - 1].role != STACK_REMARK && !is_cut &&
	       loops == want + 1;
}

size_t stack_merge(const struct stack_part *native, size_t natives, const struct stack_part *python,
		   size_t pythons, struct stack_part *to)
{
	struct merge m = {.to = to, .python = python, .pythons = pythons};
	size_t want = groups(python, pythons), loops = 0, extra = 0;
	bool is_cut = natives && native[natives - 1].role == STACK_REMARK, is_bare;

	for (size_t i = 0; i < natives; i++) {
		loops += is_loop(native, natives, i);
		extra += may_be_loop(native, natives, i);
	}
	is_bare = is_first_bare(&m, loops, want, is_cut);
	/* Doubtful loops count only as far as loops are missing. */
	if (is_cut || want <= loops)
		extra = 0;
	else if (extra > want - loops)
		extra = want - loops;
	for (size_t i = 0; i < natives; i++) {
		bool is_doubtful = extra && may_be_loop(native, natives, i);

		if (is_tail_of_next(native, natives, i) && has_python(&m))
			continue;
		if (is_bare && is_loop(native, natives, i)) {
			is_bare = false;
			loops--;
			put(&m, &native[i]);
			continue;
		}
		if (is_doubtful || is_loop(native, natives, i)) {
			extra -= is_doubtful;
			loops -= !is_doubtful;
			if (has_python(&m)) {
				put_group(&m);
				/* Python's frames in excess of the loops are above the remaining frames of C. */
				if (!loops && !extra && !is_cut)
					put_rest(&m);
				continue;
			}
			put_rest(&m);
		}
		if (native[i].role == STACK_OUTSIDE && !loops && !extra && !is_cut)
			put_rest(&m);
		put(&m, &native[i]);
	}
	put_rest(&m);
	return m.cnt;
}

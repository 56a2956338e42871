/*
 * costs_test.h - what stacks of a report written by hand cost, as lines of text in alphabetical order:
 *
 *   app/worker: main;work;read[call] off-cpu=5 calls=1
 *
 * The outermost frame comes first; in brackets what kind of frame it is, unless it is native code.
 */
#pragma once

#include "exporters/stacks/stack_costs.h"
#include "tests/unit/timeline/tl_report.h"

/* Two native functions, one of Python and one of the kernel, for a report that has no frames. */
static const char own_frames[] =
	"INSERT INTO StringIds VALUES (101, 'main'), (102, 'work'), (103, 'step'), "
	"(104, 'do_read'), (111, '/bin/app'), (112, '/src/train.py'), (113, '[kernel]');"
	"frames: (1, 0, 101, 111, NULL, NULL, 0, 0, 16), (2, 0, 102, 111, NULL, NULL, 0, 0, 32), "
	"(3, 1, 103, 112, 112, 7, 0, 0, NULL), (4, 2, 104, 113, NULL, NULL, 0, 0, 48);";
/* 1 is main, work; 2 main; 3 main, step of Python, work: for one that has no stacks. */
static const char own_stacks[] =
	"stacks: (1, 0, 2), (1, 1, 1), (2, 0, 1), (3, 0, 2), (3, 1, 3), (3, 2, 1);";

static sqlite3 *report_with_stacks(const char *report)
{
	bool nsys = strstr(report, "CALLCHAINS(") != NULL,
	     frames = strstr(report, "frames:") || strstr(report, "SL_FRAMES"),
	     stacks = strstr(report, "stacks:") || strstr(report, "SL_STACKS");
	char *all = sqlite3_mprintf("%s%s%s", report, nsys || frames ? "" : own_frames,
				    nsys || stacks ? "" : own_stacks);
	sqlite3 *db = report_of(all);

	sqlite3_free(all);
	return db;
}

static void print_frames(FILE *f, const struct stack_costs *w, uint32_t node)
{
	static const char *const kinds[] = {"",         "[python]", "[kernel]", "[jit]",
					    "[remark]", "[call]",   "[work]",   "[file]"};
	const struct stack_frame *frame = &w->frame[w->node[node].frame];

	if (w->node[node].parent != 0) {
		print_frames(f, w, w->node[node].parent);
		fprintf(f, ";");
	}
	fprintf(f, "%s%s", frame->text, kinds[frame->kind]);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *line_of(const struct stack_costs *w, const struct stack_entry *e)
{
	const struct stack_owner *o = &w->owner[e->owner];
	char *line = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&line, &len);

	assert_non_null(f);
	fprintf(f, "%s%s%s: ", o->process, o->thread ? "/" : "", o->thread ? o->thread : "");
	print_frames(f, w, e->node);
	for (int what = 0; what < COST_CNT; what++)
		if (e->value[what] != 0)
			fprintf(f, " %s=%lld", stack_cost_kinds[what].name,
				(long long)e->value[what]);
	fprintf(f, "\n");
	fclose(f);
	return line;
}

static void assert_no_table_is_left(sqlite3 *db)
{
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_prepare_v2(
				 db, "SELECT count(*) FROM temp.sqlite_master WHERE type = 'table'",
				 -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 0), 0);
	sqlite3_finalize(stmt);
}

/* The costs of @w->what; all else of @w is the caller's to set, and to look at before it frees it. */
static void check_costs(struct stack_costs *w, const char *report, const char *want)
{
	char why[256] = "", *text = NULL, **lines;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int64_t sum[COST_CNT] = {0};

	assert_non_null(f);
	w->db = report_with_stacks(report);
	if (stack_costs_run(w, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	assert_no_table_is_left(w->db);
	lines = calloc(w->entry_cnt + 1, sizeof(*lines));
	for (size_t i = 0; i < w->entry_cnt; i++) {
		lines[i] = line_of(w, &w->entry[i]);
		for (int what = 0; what < COST_CNT; what++)
			sum[what] = stack_cost_sum(sum[what], w->entry[i].value[what]);
	}
	qsort(lines, w->entry_cnt, sizeof(*lines), by_text);
	for (size_t i = 0; i < w->entry_cnt; i++) {
		fputs(lines[i], f);
		free(lines[i]);
	}
	free(lines);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
	for (int what = 0; what < COST_CNT; what++)
		assert_int_equal(sum[what], w->total[what]);
}

static void end_costs(struct stack_costs *w)
{
	sqlite3 *db = w->db;

	stack_costs_free(w);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* By process, with nothing of @what left out. */
static void check(unsigned what, const char *report, const char *want)
{
	struct stack_costs w = {.what = what};

	check_costs(&w, report, want);
	end_costs(&w);
}

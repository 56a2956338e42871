/* why_gains.c - gains: as text, and as JSON. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/json.h"
#include "exporters/text/bounded.h"
#include "exporters/text/cell.h"
#include "exporters/why/why_out.h"

#define GAINS_MAX 4
#define MOSTLY    0.5  /* of the time looked at */
#define LEAST     0.01 /* of the time looked at: a gain with a smaller upper bound has no line */

static bool is_about_processes(const struct why_culprit *c, uint32_t reason)
{
	return (reason == WHY_KERNEL || reason == WHY_TOUCH) && c->is_of_processes;
}

#define WITHOUT "do without, or "

/* In place of a removal: what to do where the line is needed. */
static const char *instead_of(const struct why *y, const struct why_gain *g)
{
	static const char *const instead[WHY_REASON_CNT] = {
		[WHY_COMPUTE] = WITHOUT "compute it once",
		[WHY_KERNEL] = WITHOUT "in fewer and larger calls",
		[WHY_TOUCH] = "keep the memory for use again: one buffer, the allocator's settings "
			      "(MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_), huge pages",
		[WHY_FILE] = WITHOUT "read and write ahead, in larger parts",
		[WHY_FSYNC] = "less than half as often, or once at the end",
		[WHY_SOCKET] = WITHOUT "ask ahead",
		[WHY_SOCKET_ANY] = WITHOUT "ask ahead",
		[WHY_SLEEP] = WITHOUT "wait for what it waits for",
		[WHY_POLL] = WITHOUT "wait for what it waits for",
		[WHY_IMPORT] = "import it once, later, or not at all",
		[WHY_PAGE_IN] = "read ahead, or in the order of the file",
		[WHY_GPU_CALL] = "less than half as many calls, each for more, or none",
		[WHY_GPU_LAUNCH] = "less than half as many calls, each for more, or none",
		[WHY_GPU_LATENCY] = "less than half as many calls, each for more, or none",
		[WHY_GPU_COPY] = "less than half as many bytes or calls, or from pinned memory",
	};
	const struct why_culprit *c = g->culprit == WHY_NONE ? NULL : &y->culprits[g->culprit];
	uint32_t reason = c ? why_main_reason(c) : WHY_GPU;

	if (g->is_of_messages)
		return "fewer messages, each for more";
	if (c && is_about_processes(c, reason))
		return "do without a process of its own for each, or make one for many";
	return instead[reason] ? instead[reason] : WITHOUT "ahead of time";
}

static void put_action(FILE *out, const struct why *y, const struct why_gain *g)
{
	switch (g->action) {
	case GAIN_UNLOCK:
		fputs("not while the lock is held", out);
		break;
	case GAIN_TOGETHER:
		fprintf(out, "all %u at the same time", g->cnt);
		break;
	case GAIN_LEVEL:
		if (g->cnt)
			fprintf(out, "equal parts for the %u threads", g->cnt);
		else
			fputs("equal parts for the streams", out);
		break;
	case GAIN_SYNC:
		fputs("do not wait for the GPU there", out);
		break;
	default:
		fputs(instead_of(y, g), out);
	}
}

/* "366 to 526 ms"; @high: no more than that is known. */
static void put_range(FILE *out, const struct why *y, const struct why_gain *g)
{
	char low[WHY_TIME_MAX], high[WHY_TIME_MAX], *unit;

	why_time_text(g->lower, low);
	why_time_text(g->upper, high);
	unit = strchr(low, ' ');
	if (g->is_up_to)
		fprintf(out, "%s %s", y->has_replay ? "up to" : "at most", high);
	else if (strcmp(low, high) == 0)
		fputs(low, out);
	else if (unit && strchr(high, ' ') && strcmp(unit, strchr(high, ' ')) == 0)
		fprintf(out, "%.*s to %s", (int)(unit - low), low, high);
	else
		fprintf(out, "%s to %s", low, high);
}

/* "the wait for a lock" of "waiting for a lock"; what is no wait has a noun of its own. */
static void put_noun(FILE *out, uint32_t reason)
{
	static const char *const nouns[WHY_REASON_CNT] = {
		[WHY_COMPUTE] = "the computation",
		[WHY_KERNEL] = "the calls into the kernel",
		[WHY_TOUCH] = "the first touch of memory",
		[WHY_GPU_CALL] = "the calls of the GPU's driver",
		[WHY_GPU_LAUNCH] = "the launches",
		[WHY_GPU_LATENCY] = "the launches",
		[WHY_GPU_COPY] = "the copies",
		[WHY_SLEEP] = "the sleep",
		[WHY_IMPORT] = "the import",
		[WHY_CHILD] = "the child process",
	};
	const char *text = why_reason_text(reason);
	size_t verb = strlen("waiting");

	if (nouns[reason])
		fputs(nouns[reason], out);
	else if (strncmp(text, "waiting", verb) == 0)
		fprintf(out, "the wait%s", text + verb);
	else
		fputs("the time", out);
}

/* The line of a gain; without one, its thread and call. */
static void put_place(FILE *out, const struct why *y, const struct why_gain *g)
{
	const char *place = y->walk.places.list[g->place].text;
	char name[96];

	if (g->place == PLACE_NONE && g->culprit != WHY_NONE) {
		const struct why_culprit *c = &y->culprits[g->culprit];

		fputs(" of ", out);
		text_put_people(out,
				c->process == y->model.threads[y->focus].process
					? why_thread_text(y, c->part.thread, name, sizeof(name))
					: why_command(y, c->process, name, sizeof(name)));
		why_put_call(out, y, &c->part.cause);
	} else if (place) {
		fputs(" at ", out);
		text_put_people(out, place);
	}
}

/* "Removing the sleep at t.py:15 in train". */
static void put_change(FILE *out, const struct why *y, const struct why_gain *g)
{
	const struct why_culprit *c = g->culprit == WHY_NONE ? NULL : &y->culprits[g->culprit];
	uint32_t reason = c ? why_main_reason(c) : WHY_GPU;

	switch (g->action) {
	case GAIN_UNLOCK:
		fputs("Moving ", out);
		put_noun(out, reason);
		put_place(out, y, g);
		fputs(" out of the lock", out);
		return;
	case GAIN_TOGETHER:
		fprintf(out, "Doing all %u at the same time", g->cnt);
		break;
	case GAIN_LEVEL:
		if (g->cnt)
			fprintf(out, "Giving the %u threads equal parts", g->cnt);
		else
			fputs("Giving the streams equal parts", out);
		break;
	case GAIN_SYNC:
		fputs("Waiting less for the GPU", out);
		break;
	case GAIN_BATCH:
		fputs(g->is_of_messages ? "Exchanging fewer messages" : "Making fewer calls", out);
		break;
	default:
		fputs("Removing ", out);
		if (c && is_about_processes(c, reason))
			fputs("the processes that are made", out);
		else
			put_noun(out, reason);
	}
	put_place(out, y, g);
}

/* "  1  bad     Removing the sleep at t.py:15 in train would save 366 to 526 ms of 1.27 s: wait for what it waits for" */
static void put_gain(FILE *out, const struct why *y, const struct why_gain *g, unsigned nr)
{
	bool is_removed = g->action == GAIN_REMOVE || g->action == GAIN_BATCH;
	const char *instead = is_removed ? instead_of(y, g) : "";
	char ns[WHY_TIME_MAX];

	fprintf(out, "%3u  %-6s  ", nr, gain_severity_names[g->severity]);
	put_change(out, y, g);
	fputs(" would save ", out);
	put_range(out, y, g);
	fprintf(out, " of %s", why_time_text(y->ns, ns));
	if (strncmp(instead, WITHOUT, strlen(WITHOUT)) == 0)
		instead += strlen(WITHOUT);
	fprintf(out, *instead ? ": %s" : "", instead);
	/* A bound alone is not sure, however well the way to it is recorded. */
	if (!g->is_up_to && g->sure < WHY_SURE)
		fprintf(out, " (%s)", why_sure_text(g->sure));
	putc('\n', out);
}

void why_put_gains(FILE *out, const struct why *y, bool is_brief)
{
	double all = (double)y->ns;
	unsigned nr = 0;

	if (y->gains_cnt && (double)y->of_reason[WHY_UNKNOWN] > WHY_UNKNOWN_MOST * all)
		fprintf(out, "%.0f %% of the time is not recorded: no gain is sure\n",
			100 * (double)y->of_reason[WHY_UNKNOWN] / all);
	for (size_t i = 0; i < y->gains_cnt && nr < (is_brief ? 1 : GAINS_MAX); i++) {
		const struct why_gain *g = &y->gains[i];

		if ((double)g->upper < LEAST * all)
			continue;
		if (!nr)
			fputs(y->has_replay ? "What to change\n"
					    : "What to change: bounds, without a replay\n",
			      out);
		put_gain(out, y, g, ++nr);
	}
	if (!nr && !y->gpu && y->has_replay && (double)y->of_reason[WHY_GPU] >= MOSTLY * all)
		fprintf(out, "Nothing is to be won but in the GPU's kernels, which take %.1f %%\n",
			100 * (double)y->of_reason[WHY_GPU] / all);
}

static void put_json_gain(struct writer *w, const struct why *y, const struct why_gain *g)
{
	char *action = NULL;
	size_t len;
	FILE *words = open_memstream(&action, &len);

	json_open(w, NULL, '{');
	json_text(w, "action", gain_action_name(g->action));
	json_int(w, "lower_ns", g->lower);
	json_int(w, "upper_ns", g->upper);
	json_text(w, "severity", gain_severity_names[g->severity]);
	json_bool(w, "up_to", g->is_up_to);
	json_format(w, "confidence", "%.3f", g->sure);
	json_open(w, "conditions", '[');
	if (words)
		put_action(words, y, g);
	if (words && fclose(words) == 0)
		json_bytes(w, NULL, action, len);
	free(action);
	json_close(w, ']');
	why_put_json_place(w, y, g->place);
	json_close(w, '}');
}

void why_put_json_gains(struct writer *w, const struct why *y)
{
	size_t cnt;

	json_line(w, 1);
	cnt = bounded_list(w, "gains", y->gains_cnt);
	for (size_t i = 0; i < cnt; i++) {
		json_line(w, 2);
		put_json_gain(w, y, &y->gains[i]);
	}
	json_close(w, ']');
}

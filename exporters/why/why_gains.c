/* why_gains.c - gains: as text, and as JSON. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/json.h"
#include "exporters/text/cell.h"
#include "exporters/why/why_out.h"

#define GAINS_MAX 4
#define MOSTLY    0.5  /* of the time looked at */
#define LEAST     0.01 /* of the time looked at: a gain with a smaller upper bound has no line */

/* The sentence for the action of a gain. */
static void put_action(FILE *out, const struct why *y, const struct why_gain *g)
{
	static const char *const instead[WHY_REASON_CNT] = {
		[WHY_COMPUTE] = "do without, or compute it once",
		[WHY_KERNEL] = "do without, or in fewer and larger calls",
		[WHY_TOUCH] = "keep the memory for use again: one buffer, the allocator's settings "
			      "(MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_), huge pages",
		[WHY_FILE] = "do without, or read and write ahead, in larger parts",
		[WHY_FSYNC] = "less than half as often, or once at the end",
		[WHY_SOCKET] = "do without, or ask ahead",
		[WHY_SOCKET_ANY] = "do without, or ask ahead",
		[WHY_SLEEP] = "do without, or wait for what it waits for",
		[WHY_POLL] = "do without, or wait for what it waits for",
		[WHY_IMPORT] = "import it once, later, or not at all",
		[WHY_PAGE_IN] = "read ahead, or in the order of the file",
		[WHY_GPU_CALL] = "less than half as many calls, each for more, or none",
		[WHY_GPU_LAUNCH] = "less than half as many calls, each for more, or none",
		[WHY_GPU_LATENCY] = "less than half as many calls, each for more, or none",
		[WHY_GPU_COPY] = "less than half as many bytes or calls, or from pinned memory",
	};
	uint32_t reason =
		g->culprit == WHY_NONE ? WHY_GPU : why_main_reason(&y->culprits[g->culprit]);

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
		if ((reason == WHY_KERNEL || reason == WHY_TOUCH) &&
		    y->culprits[g->culprit].is_of_processes)
			fputs("do without a process of its own for each, or make one for many",
			      out);
		else
			fputs(instead[reason] ? instead[reason] : "do without, or ahead of time",
			      out);
	}
}

static void put_gain(FILE *out, const struct why *y, const struct why_gain *g, unsigned nr)
{
	double all = (double)y->ns;
	char low[WHY_TIME_MAX], high[WHY_TIME_MAX], range[3 * WHY_TIME_MAX], *unit;
	char name[96];

	why_time_text(g->lower, low);
	why_time_text(g->upper, high);
	unit = strchr(low, ' ');
	if (g->is_up_to)
		snprintf(range, sizeof(range), "%s %s", y->has_replay ? "up to" : "at most", high);
	else if (strcmp(low, high) == 0)
		snprintf(range, sizeof(range), "%s", low);
	else if (unit && strchr(high, ' ') && strcmp(unit, strchr(high, ' ')) == 0)
		snprintf(range, sizeof(range), "%.*s..%s", (int)(unit - low), low, high);
	else
		snprintf(range, sizeof(range), "%s..%s", low, high);
	fprintf(out, "%3u  %-6s  %s (%.1f %%)  ", nr, gain_severity_names[g->severity], range,
		100 * (double)(g->is_up_to ? g->upper : g->lower) / all);
	if (g->place == PLACE_NONE && g->culprit != WHY_NONE) {
		text_put_people(out, why_thread_text(y, y->culprits[g->culprit].part.thread, name,
						     sizeof(name)));
		why_put_call(out, y, &y->culprits[g->culprit].part.cause);
	} else if (y->walk.places.list[g->place].text)
		text_put_people(out, y->walk.places.list[g->place].text);
	fputs(": ", out);
	put_action(out, y, g);
	/* A bound alone is not sure, however well the way to it is recorded. */
	fprintf(out, "%s%s\n", g->is_up_to ? "" : "  ", g->is_up_to ? "" : why_sure_text(g->sure));
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
			fputs(y->has_replay ? "Could be won\n" : "Could be won, at most\n", out);
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
	json_line(w, 1);
	json_open(w, "gains", '[');
	for (size_t i = 0; i < y->gains_cnt; i++) {
		json_line(w, 2);
		put_json_gain(w, y, &y->gains[i]);
	}
	json_close(w, ']');
}

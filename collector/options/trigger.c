/* trigger.c - parses --trigger, and compares durations with its limits. */
#include "collector/options/trigger.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "preload/wire/gpu_parse.h"
#include "preload/wire/hooks.h"
#include "preload/wire/session.h"

#define OVER_NS            INT64_C(1000000000)
#define PYTHON_STEP_DOMAIN "python-step" /* scripts/python/_sightline/steps.py */

int64_t time_read(const char *text, const char **end)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"min", 60e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"s", 1e9}, {"m", 60e9}};
	char *at = (char *)(uintptr_t)text;
	double value = isdigit((unsigned char)*text) ? strtod(text, &at) : 0;

	if (!(value > 0) || value > 1e9)
		return 0;
	*end = at;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i].unit);

		if (strncmp(at, units[i].unit, len) != 0 || isalnum((unsigned char)at[len]))
			continue;
		*end = at + len;
		value *= units[i].ns;
		return value < 1 || value > 1e18 ? 0 : (int64_t)value;
	}
	return isalnum((unsigned char)*at) ? 0 : (int64_t)(value * 1e9);
}

const char *trigger_time(int64_t ns, char *text, size_t len)
{
	double v = (double)ns;

	if (ns < 1000000)
		snprintf(text, len, "%.1f us", v / 1e3);
	else if (ns < 1000000000)
		snprintf(text, len, "%.1f ms", v / 1e6);
	else
		snprintf(text, len, "%.2f s", v / 1e9);
	return text;
}

/* ---- the text of a condition ---- */

struct parser {
	const char *cmd, *text; /* one trigger, without the comma after it */
	const char *at;
};

static int wrong(const struct parser *p, const char *at, const char *what)
{
	sl_warn("%s: option '--trigger': '%s', column %d: %s (see 'sightline %s --help')", p->cmd,
		p->text, (int)(at - p->text) + 1, what, p->cmd);
	return -SL_EXIT_USAGE;
}

static void skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

/* The word @word, not as the beginning of a longer one. */
static bool take_word(struct parser *p, const char *word)
{
	size_t len = strlen(word);

	skip_blanks(p);
	if (strncmp(p->at, word, len) != 0 ||
	    (isalnum((unsigned char)word[len - 1]) && isalnum((unsigned char)p->at[len])))
		return false;
	p->at += len;
	return true;
}

static int take_end(struct parser *p)
{
	skip_blanks(p);
	return *p->at ? wrong(p, p->at, "nothing is expected here") : 0;
}

/* Copies the text from @from to @end, without blanks around it. False: it is empty, or too long. */
static bool copy_name(char *to, const char *from, const char *end)
{
	size_t len;

	while (from < end && isspace((unsigned char)*from))
		from++;
	while (from < end && isspace((unsigned char)end[-1]))
		end--;
	len = (size_t)(end - from);
	if (!len || len >= TRIGGER_NAME)
		return false;
	memcpy(to, from, len);
	to[len] = 0;
	return true;
}

static bool is_late(const struct trigger *t)
{
	return t->kind == TRIGGER_RANK_LATE;
}

/* "[and 5ms] [for 5 steps]" of rank-late. */
static int take_late_end(struct parser *p, struct trigger *t)
{
	const char *begin;
	char *end;
	long steps;

	t->late.floor_ns = t->medians > 0 ? TRIGGER_LATE_NS : 0;
	t->late.steps = t->medians > 0 ? TRIGGER_LATE_STEPS : 1;
	if (t->medians > 0 && take_word(p, "and")) {
		skip_blanks(p);
		begin = p->at;
		t->late.floor_ns = time_read(begin, &p->at);
		if (!t->late.floor_ns)
			return wrong(p, begin, "a time such as 5ms is expected");
	}
	if (!take_word(p, "for"))
		return take_end(p);
	skip_blanks(p);
	begin = p->at;
	steps = isdigit((unsigned char)*begin) ? strtol(begin, &end, 10) : 0;
	if (steps < 1 || steps > 1000)
		return wrong(p, begin, "a number of steps in a row is expected, from 1 to 1000");
	p->at = end;
	t->late.steps = (uint32_t)steps;
	if (!take_word(p, "steps") && !take_word(p, "step"))
		return wrong(p, p->at, "'steps' is expected, as in 'for 5 steps'");
	return take_end(p);
}

/* "1.5x median" or a time; of rank-late also "20%" above the median. */
static int take_limit(struct parser *p, struct trigger *t)
{
	const char *begin, *end;
	char *number;

	skip_blanks(p);
	begin = p->at;
	number = (char *)(uintptr_t)begin;
	t->medians = isdigit((unsigned char)*begin) ? strtod(begin, &number) : 0;
	if (t->medians > 0 && *number == 'x') {
		p->at = number + 1;
		if (!take_word(p, "median"))
			return wrong(p, p->at, "'median' is expected, as in '1.5x median'");
		if (t->medians < 1)
			return wrong(p, begin, "a number of medians from 1 on is expected");
		return is_late(t) ? take_late_end(p, t) : take_end(p);
	}
	if (is_late(t) && t->medians > 0 && *number == '%') {
		p->at = number + 1;
		t->medians = 1 + t->medians / 100;
		return take_late_end(p, t);
	}
	t->medians = 0;
	t->limit_ns = time_read(begin, &end);
	if (!t->limit_ns)
		return wrong(p, begin,
			     "a time such as 100ms, 80us or 2.5s is expected, or '1.5x median'");
	p->at = end;
	return is_late(t) ? take_late_end(p, t) : take_end(p);
}

static bool hook_exists(const char *pattern)
{
	for (unsigned i = 0; i < SL_HOOK_CNT; i++)
		if (trigger_matches(pattern, sl_hook_name(i)))
			return true;
	return false;
}

static bool gpu_function_exists(const char *pattern)
{
	const char *at = sl_gpu_text;
	struct sl_gpu_line line;

	for (unsigned i = 0; i < SL_GPU_FUNCTION_CNT; i++) {
		at = sl_gpu_next(at, &line);
		if (trigger_matches(pattern, line.name))
			return true;
	}
	return false;
}

static const char *nearest_hook(const char *name)
{
	const char *best = NULL;

	for (unsigned i = 0; i < SL_HOOK_CNT; i++)
		best = sl_nearest(name, best, sl_hook_name(i));
	return best;
}

static bool is_range(const struct trigger *t)
{
	return t->kind == TRIGGER_NVTX || t->kind == TRIGGER_RANK_LATE;
}

static int check_name(const struct parser *p, const struct trigger *t, const char *at)
{
	const char *near = t->kind == TRIGGER_OSRT ? nearest_hook(t->name) : NULL;
	char text[TRIGGER_NAME + 80];

	if (is_range(t) || (t->kind == TRIGGER_OSRT && hook_exists(t->name)) ||
	    (t->kind == TRIGGER_CUDA && gpu_function_exists(t->name)))
		return 0;
	snprintf(text, sizeof(text),
		 near ? "no such function is recorded; did you mean '%s'?"
		      : "no such function is recorded%s",
		 near ? near : "");
	return wrong(p, at, text);
}

/* NAME[@DOMAIN] > LIMIT. A name may have a > or @ in it: the last ones count. */
static int take_duration(struct parser *p, struct trigger *t)
{
	const char *begin, *than = strrchr(p->at, '>'), *end = than, *domain = NULL;

	skip_blanks(p);
	begin = p->at;
	if (!than)
		return wrong(p, p->text + strlen(p->text), "'> LIMIT' is expected");
	if (is_range(t))
		for (const char *c = begin; c < than; c++)
			if (*c == '@')
				domain = c;
	if (domain) {
		if (!copy_name(t->domain, domain + 1, than))
			return wrong(p, domain + 1, "the name of a domain is expected, or *");
		end = domain;
	}
	if (!copy_name(t->name, begin, end))
		return wrong(p, begin,
			     is_range(t) ? "the name of a range is expected"
					 : "the name of a function is expected");
	if (check_name(p, t, begin))
		return -SL_EXIT_USAGE;
	p->at = than + 1;
	return take_limit(p, t);
}

static int take_idle(struct parser *p, struct trigger *t)
{
	const char *begin;
	char *end;

	if (!take_word(p, ">"))
		return wrong(p, p->at, "'>' is expected");
	skip_blanks(p);
	begin = p->at;
	end = (char *)(uintptr_t)begin;
	t->idle = isdigit((unsigned char)*begin) ? strtod(begin, &end) / 100 : -1;
	if (t->idle < 0 || t->idle >= 1 || *end != '%')
		return wrong(p, begin, "a share such as 50% is expected, below 100%");
	p->at = end + 1;
	t->over_ns = OVER_NS;
	if (take_word(p, "over")) {
		skip_blanks(p);
		begin = p->at;
		t->over_ns = time_read(begin, &p->at);
		if (t->over_ns < 10000000 || t->over_ns > 600 * OVER_NS)
			return wrong(p, begin, "a time such as 5s is expected, from 10ms to 10m");
	}
	return take_end(p);
}

/* Steps are ranges "step", in whatever domain: those of --python-step have one of their own. */
static int take_late(struct parser *p, struct trigger *t)
{
	memcpy(t->name, "step", sizeof("step"));
	memcpy(t->domain, "*", sizeof("*"));
	if (!take_word(p, ">"))
		return wrong(p, p->at, "'> LIMIT' is expected, or ':RANGE > LIMIT'");
	return take_limit(p, t);
}

#define HANG_LEAST INT64_C(2000000000) /* ns: the program is looked at once a second */

static int take_hang(struct parser *p, struct trigger *t)
{
	const char *begin;

	if (!take_word(p, ">"))
		return wrong(p, p->at, "'> TIME' is expected");
	skip_blanks(p);
	begin = p->at;
	t->limit_ns = time_read(begin, &p->at);
	if (t->limit_ns < HANG_LEAST)
		return wrong(p, begin, "a time such as 30s is expected, from 2s on");
	return take_end(p);
}

static int take_nothing(struct parser *p, struct trigger *t)
{
	(void)t;
	return take_end(p);
}

static int take_exit(struct parser *p, struct trigger *t)
{
	skip_blanks(p);
	if (!*p->at)
		return 0;
	t->kind = TRIGGER_EXIT_BAD;
	if (!take_word(p, "!="))
		return wrong(p, p->at, "'!= 0' is expected, or nothing");
	if (!take_word(p, "0"))
		return wrong(p, p->at, "0 is expected");
	return take_end(p);
}

static int read_one(struct trigger *t, const char *text, const char *cmd)
{
	static const struct {
		const char *word;
		enum trigger_kind kind;
		int (*take)(struct parser *p, struct trigger *t);
	} kinds[] = {{"nvtx:", TRIGGER_NVTX, take_duration},
		     {"osrt:", TRIGGER_OSRT, take_duration},
		     {"cuda:", TRIGGER_CUDA, take_duration},
		     {"gpu-idle", TRIGGER_GPU_IDLE, take_idle},
		     {"rank-late:", TRIGGER_RANK_LATE, take_duration},
		     {"rank-late", TRIGGER_RANK_LATE, take_late},
		     {"hang", TRIGGER_HANG, take_hang},
		     {"signal", TRIGGER_SIGNAL, take_nothing},
		     {"oom", TRIGGER_OOM, take_nothing},
		     {"exit", TRIGGER_EXIT, take_exit}};
	struct parser p = {.cmd = cmd, .text = t->text, .at = t->text};

	memset(t, 0, sizeof(*t));
	if (!*text)
		return wrong(&p, p.at, "a trigger is expected");
	if (strlen(text) >= sizeof(t->text)) {
		sl_warn("%s: option '--trigger': '%.40s...' is too long", cmd, text);
		return -SL_EXIT_USAGE;
	}
	memcpy(t->text, text, strlen(text) + 1);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		t->kind = kinds[i].kind;
		if (take_word(&p, kinds[i].word))
			return kinds[i].take(&p, t);
	}
	return wrong(
		&p, p.at,
		"nvtx:, osrt:, cuda:, gpu-idle, rank-late, hang, signal, oom or exit is expected");
}

int triggers_read(struct triggers *ts, const char *text, const char *cmd)
{
	char *copy = malloc(strlen(text) + 1), *to = copy;
	int rc = 0;

	ts->cnt = 0;
	if (!copy)
		return -SL_EXIT_FAIL;
	for (const char *p = text; !rc; p++) {
		if (*p == '\\' && p[1] == ',') {
			*to++ = *++p;
			continue;
		}
		if (*p && *p != ',') {
			/* Blanks after a comma are no part of a trigger. */
			if (to != copy || !isspace((unsigned char)*p))
				*to++ = *p;
			continue;
		}
		*to = 0;
		to = copy;
		if (ts->cnt == TRIGGER_MAX) {
			sl_warn("%s: option '--trigger': at most %u", cmd, TRIGGER_MAX);
			rc = -SL_EXIT_USAGE;
			break;
		}
		rc = read_one(&ts->at[ts->cnt++], copy, cmd);
		if (!*p)
			break;
	}
	free(copy);
	return rc;
}

int triggers_check(const struct triggers *ts, uint32_t trace, int64_t threshold_ns, const char *cmd)
{
	static const struct {
		uint32_t trace;
		const char *name;
	} needs[] = {[TRIGGER_NVTX] = {SL_TRACE_NVTX, "nvtx"},
		     [TRIGGER_OSRT] = {SL_TRACE_OSRT, "osrt"},
		     [TRIGGER_CUDA] = {~(SL_TRACE_OSRT | SL_TRACE_FILE_ACCESS | SL_TRACE_NVTX |
					 SL_TRACE_PYTHON_GIL | SL_TRACE_PYTHON_GC),
				       "cuda"},
		     [TRIGGER_GPU_IDLE] = {SL_TRACE_CUDA, "cuda"},
		     [TRIGGER_RANK_LATE] = {SL_TRACE_NVTX, "nvtx"},
		     [TRIGGER_HANG] = {UINT32_MAX, NULL},
		     [TRIGGER_SIGNAL] = {UINT32_MAX, NULL},
		     [TRIGGER_OOM] = {UINT32_MAX, NULL},
		     [TRIGGER_EXIT] = {UINT32_MAX, NULL},
		     [TRIGGER_EXIT_BAD] = {UINT32_MAX, NULL}};

	uint32_t late = 0;

	for (uint32_t i = 0; i < ts->cnt; i++) {
		const struct trigger *t = &ts->at[i];

		late += t->kind == TRIGGER_RANK_LATE;
		if (late > 1) {
			sl_warn("%s: option '--trigger': one rank-late at most", cmd);
			return -SL_EXIT_USAGE;
		}
		if (needs[t->kind].name && !(trace & needs[t->kind].trace)) {
			sl_warn("%s: option '--trigger': '%s' needs %s in --trace", cmd, t->text,
				needs[t->kind].name);
			return -SL_EXIT_USAGE;
		}
		if (t->kind == TRIGGER_OSRT && t->limit_ns && t->limit_ns < threshold_ns) {
			sl_warn("%s: option '--trigger': '%s' would miss calls, for those below "
				"--osrt-threshold (%lld ns) are only counted",
				cmd, t->text, (long long)threshold_ns);
			return -SL_EXIT_USAGE;
		}
	}
	return 0;
}

static void add_steps(struct triggers *ts, const char *name, const char *domain)
{
	struct trigger *t = &ts->at[ts->cnt];

	if (ts->cnt == TRIGGER_MAX)
		return;
	memset(t, 0, sizeof(*t));
	t->kind = TRIGGER_RANK_LATE;
	t->late.is_added = true;
	snprintf(t->name, sizeof(t->name), "%s", name);
	snprintf(t->domain, sizeof(t->domain), "%s", domain);
	ts->cnt++;
}

void triggers_add_steps(struct triggers *ts)
{
	const struct trigger *late = NULL;

	for (uint32_t i = 0; i < ts->cnt; i++)
		if (ts->at[i].kind == TRIGGER_RANK_LATE)
			late = &ts->at[i];
	if (late && (strcmp(late->name, "step") != 0 || strcmp(late->domain, "*") != 0))
		return;
	if (!late)
		add_steps(ts, "step", "*");
	add_steps(ts, "*", PYTHON_STEP_DOMAIN);
}

/* ---- events ---- */

bool trigger_matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*')
		return strncmp(pattern, name, len - 1) == 0;
	return strcmp(pattern, name) == 0;
}

bool trigger_in_domain(const struct trigger *t, const char *domain)
{
	return trigger_matches(t->domain, domain) ||
	       (!t->domain[0] && strcmp(domain, PYTHON_STEP_DOMAIN) == 0);
}

/* Where @ns stands among the first @cnt of sorted[], or would. */
static size_t place(const struct trigger *t, size_t cnt, int64_t ns)
{
	size_t lo = 0, hi = cnt;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (t->sorted[mid] < ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void remember(struct trigger *t, int64_t ns)
{
	size_t cnt = t->seen < TRIGGER_MEDIAN ? (size_t)t->seen : TRIGGER_MEDIAN, at;
	int64_t *slot = &t->last[t->seen++ % TRIGGER_MEDIAN];

	if (cnt == TRIGGER_MEDIAN) {
		at = place(t, cnt, *slot);
		memmove(t->sorted + at, t->sorted + at + 1, (cnt - at - 1) * sizeof(*t->sorted));
		cnt--;
	}
	at = place(t, cnt, ns);
	memmove(t->sorted + at + 1, t->sorted + at, (cnt - at) * sizeof(*t->sorted));
	t->sorted[at] = *slot = ns;
}

/* Median of the durations before; 0: too few. */
static int64_t median(const struct trigger *t)
{
	size_t cnt = t->seen < TRIGGER_MEDIAN ? (size_t)t->seen : TRIGGER_MEDIAN;

	if (cnt < TRIGGER_MEDIAN_MIN)
		return 0;
	return cnt % 2 ? t->sorted[cnt / 2] : (t->sorted[cnt / 2 - 1] + t->sorted[cnt / 2]) / 2;
}

bool trigger_duration(struct trigger *t, const char *name, int64_t ns, char *why, size_t why_len)
{
	int64_t middle = t->medians > 0 ? median(t) : 0;
	char took[32], other[32];
	bool fires;

	if (t->medians > 0) {
		fires = middle && (double)ns > t->medians * (double)middle;
		remember(t, ns);
	} else {
		fires = ns > t->limit_ns;
	}
	if (!fires)
		return false;
	trigger_time(ns, took, sizeof(took));
	if (t->medians > 0)
		snprintf(why, why_len, "trigger '%s': %s took %s, the median is %s", t->text, name,
			 took, trigger_time(middle, other, sizeof(other)));
	else
		snprintf(why, why_len, "trigger '%s': %s took %s", t->text, name, took);
	return true;
}

/* tools_ask.c - tools that ask a command of this program: its JSON, with the names and the next call of the client. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "exporters/analyze/findings.h"
#include "exporters/mcp/mcp.h"
#include "exporters/sql/report.h"

#define OUTPUT_MAX (64u << 20) /* of a command whose JSON is looked at here */
#define MARGIN     220         /* for the members that are added here */
#define MORE       4

/* A command on its way: words that last as long as it. */
struct ask {
	struct mcp_run run;
	char *words[24];
	int words_cnt;
	struct mcp_file files[2];
	char prefix[2][40]; /* the folders of the files as the command sees them */
};

static void begin(struct ask *a, const struct mcp_call *c, const char *command)
{
	*a = (struct ask){.run = {.fds = {-1, -1},
				  .folder = -1,
				  .timeout_s = c->mcp->timeout_s,
				  .max = OUTPUT_MAX}};
	a->files[0].dir = a->files[1].dir = -1;
	mcp_run_add(&a->run, "sightline");
	mcp_run_add(&a->run, command);
}

static void end(struct ask *a)
{
	for (int i = 0; i < a->words_cnt; i++)
		free(a->words[i]);
	for (int i = 0; i < 2; i++)
		if (a->files[i].dir >= 0)
			close(a->files[i].dir);
	mcp_run_free(&a->run);
}

__attribute__((format(printf, 2, 3))) static void add(struct ask *a, const char *format, ...)
{
	va_list ap;
	char *word = NULL;

	va_start(ap, format);
	if (a->words_cnt < 24 && vasprintf(&word, format, ap) >= 0) {
		a->words[a->words_cnt++] = word;
		mcp_run_add(&a->run, word);
	}
	va_end(ap);
}

/* An option whose value the client gave: it cannot become another option. */
static void add_given(struct ask *a, const struct mcp_call *c, const char *name, const char *option)
{
	const char *text = mcp_value(c, name)->text;

	if (text)
		add(a, "--%s=%s", option, text);
}

/* Reports of an argument, joined by commas, in one folder. */
static int add_reports(struct ask *a, struct mcp_call *c, const char *name, int i)
{
	char *list = strdup(mcp_value(c, name)->text), *rest = list, *path, *word = NULL;
	struct mcp_file *file = &a->files[i];
	int rc = list ? 0 : -1;

	while (rc == 0 && (path = strsep(&rest, ","))) {
		struct mcp_file one;
		char *more;

		if (!*path)
			continue;
		rc = mcp_find(c->mcp, path, &one, c->why, sizeof(c->why));
		if (rc == 0 && file->dir >= 0 && strcmp(file->shown, one.shown) != 0) {
			snprintf(c->why, sizeof(c->why),
				 "%s: reports of one side lie in one folder", name);
			rc = -1;
		}
		if (rc == 0 && file->dir < 0) {
			*file = one;
			snprintf(a->prefix[i], sizeof(a->prefix[i]), "/proc/self/fd/%d/", one.dir);
			a->run.fds[i] = one.dir;
		} else if (one.dir >= 0) {
			close(one.dir);
		}
		if (rc == 0 && asprintf(&more, "%s%s%s%s", word ? word : "", word ? "," : "",
					a->prefix[i], one.name) >= 0) {
			free(word);
			word = more;
		}
	}
	if (rc == 0 && word)
		add(a, "%s", word);
	else if (rc == 0)
		rc = snprintf(c->why, sizeof(c->why), "%s: no report is named", name) ? -1 : -1;
	free(word);
	free(list);
	return rc;
}

/* The folder as the command sees it becomes the one that the client named. malloc'd; NULL: no memory. */
static char *renamed(const char *text, size_t *len, const struct ask *a)
{
	struct writer w = {.max = OUTPUT_MAX * 2};
	const char *end = text + *len;

	while (text < end) {
		const char *first = end;
		int which = -1;

		for (int i = 0; i < 2; i++) {
			const char *at = *a->prefix[i] ? memmem(text, (size_t)(end - text),
								a->prefix[i], strlen(a->prefix[i]))
						       : NULL;

			if (at && at < first) {
				first = at;
				which = i;
			}
		}
		writer_add(&w, text, (size_t)(first - text));
		text = first;
		if (which < 0)
			break;
		writer_add(&w, a->files[which].shown, strlen(a->files[which].shown));
		text += strlen(a->prefix[which]);
	}
	*len = w.len;
	writer_add(&w, "", 1);
	if (w.failed)
		writer_free(&w);
	return w.data;
}

/* The last line of the command's stderr, without the name of the program. */
static const char *complaint(char *error)
{
	size_t len = strlen(error);
	char *line;

	while (len && error[len - 1] == '\n')
		error[--len] = 0;
	line = strrchr(error, '\n');
	line = line ? line + 1 : error;
	return strncmp(line, "sightline: ", 11) == 0 ? line + 11 : line;
}

/* Runs it. 0 when it answered or abstained; else -1 with a sentence. */
static int run(struct ask *a, struct mcp_call *c)
{
	struct mcp_run *r = &a->run;
	char *text, *error;
	size_t len;

	r->argv[r->argc] = NULL;
	if (c->mcp->run(c->mcp, r) == 0 && !r->is_late && !r->is_long && !r->is_cancelled &&
	    (r->status == 0 || r->status == SL_EXIT_ABSTAINED)) {
		text = renamed(r->text, &r->len, a);
		mcp_run_free(r);
		r->text = text;
		return text ? 0 : -1;
	}
	len = strlen(r->error);
	error = renamed(r->error, &len, a);
	if (r->is_late)
		snprintf(c->why, sizeof(c->why),
			 "no answer in %d s: ask for less (time, limit), or start the server with "
			 "a longer --timeout",
			 r->timeout_s);
	else if (r->is_long)
		snprintf(c->why, sizeof(c->why), "the answer is longer than %u MiB: ask for less",
			 OUTPUT_MAX >> 20);
	else if (r->status > 128)
		snprintf(c->why, sizeof(c->why), "the command was ended by signal %d",
			 r->status - 128);
	else
		snprintf(c->why, sizeof(c->why), "%.480s",
			 error && *error ? complaint(error)
					 : "the command ended without an answer");
	free(error);
	return -1;
}

/* ---- answers ---- */

/* The call that shows more: the same with @arguments instead of those given. */
static char *next_call(const struct mcp_call *c, bool with_limit)
{
	const struct mcp_value *limit = mcp_value(c, "limit");
	char more[96];

	snprintf(more, sizeof(more), "{\"chars\": %zu", MORE * c->room);
	if (with_limit)
		snprintf(more + strlen(more), sizeof(more) - strlen(more), ", \"limit\": %lld",
			 limit->text ? (long long)(MORE * limit->number) : 50);
	strcat(more, "}");
	return mcp_sql_text(c->mcp,
			    "SELECT json_object('tool', ?2, 'arguments', json_patch(?1, ?3))",
			    c->arguments, c->tool->name, more, 0);
}

/* The command's JSON, with its "next" as a call of this server. */
static int put_json(struct mcp_call *c, const char *text)
{
	char *next = next_call(c, true);
	char *json = mcp_sql_text(
		c->mcp,
		"SELECT json_insert(CASE WHEN json_type(?1, '$.next') IS NULL THEN ?1 ELSE "
		"json_replace(?1, '$.next', json(?2)) END, '$.texts', ?3)",
		text, next ? next : "null", MCP_DATA, 0);

	if (json)
		writer_add(&c->out, json, strlen(json));
	else
		snprintf(c->why, sizeof(c->why), "%s: the command's answer is no JSON",
			 c->tool->name);
	free(next);
	free(json);
	return json ? 0 : -1;
}

/* Options for the size of the command's JSON. */
static void add_bounds(struct ask *a, const struct mcp_call *c, int64_t limit)
{
	const struct mcp_value *given = mcp_value(c, "limit");
	size_t taken = MARGIN + strlen(c->arguments) + strlen(MCP_DATA);

	add(a, "--limit=%lld", given->text ? (long long)given->number : (long long)limit);
	add(a, "--max-bytes=%zu", c->room > 2 * taken ? c->room - taken : c->room / 2);
}

static int ask_json(struct ask *a, struct mcp_call *c)
{
	int rc = run(a, c);

	if (rc == 0)
		rc = put_json(c, a->run.text);
	end(a);
	return rc;
}

/* The command's text in an object, cut at a line. */
static int put_text(struct mcp_call *c, const char *text, size_t len, bool is_abstained)
{
	size_t room = c->room - MARGIN - strlen(c->arguments) - strlen(MCP_DATA), cut = len;
	struct writer *w = &c->out;
	char *next = NULL, *part, *quoted;

	/* In JSON a line's end takes two bytes. */
	for (size_t i = 0, used = 0; i < len && cut == len; i++) {
		used += text[i] == '\n' || text[i] == '"' || text[i] == '\\' ? 2 : 1;
		if (used > room)
			cut = i;
	}
	if (cut < len)
		for (size_t i = cut; i > cut / 2; i--)
			if (text[i - 1] == '\n') {
				cut = i;
				break;
			}
	json_open(w, NULL, '{');
	json_int(w, "schema_version", 1);
	json_text(w, "report", mcp_value(c, "report")->text);
	if (is_abstained) {
		json_bool(w, "abstained", true);
		json_text(w, "reason", "the report lacks the data for an answer");
		json_text(w, "remedy",
			  "the text names what was not recorded, and the option that records it");
	}
	/* SQLite writes the end of a line as two bytes. */
	part = strndup(text, cut);
	quoted = part ? mcp_sql_text(c->mcp, "SELECT json_quote(?1)", part, NULL, NULL, 0) : NULL;
	json_raw(w, "text", quoted ? quoted : "null", strlen(quoted ? quoted : "null"));
	free(part);
	free(quoted);
	if (cut < len) {
		next = next_call(c, false);
		json_open(w, "omitted", '{');
		json_open(w, "text", '{');
		json_int(w, "count", (int64_t)(len - cut));
		json_close(w, '}');
		json_close(w, '}');
		json_raw(w, "next", next ? next : "null", strlen(next ? next : "null"));
		free(next);
	}
	json_text(w, "texts", MCP_DATA);
	json_close(w, '}');
	return 0;
}

/* ---- tools ---- */

int mcp_call_summary(struct mcp_call *c)
{
	struct ask a;

	begin(&a, c, "info");
	add(&a, "-f");
	add(&a, "json");
	add_bounds(&a, c, 20);
	if (add_reports(&a, c, "report", 0) < 0) {
		end(&a);
		return -1;
	}
	return ask_json(&a, c);
}

/* "gpu:0" as --gpu=0. */
static int add_focus(struct ask *a, struct mcp_call *c)
{
	static const char *const kinds[] = {"thread", "process", "gpu", "nvtx", "step", NULL};
	const char *focus = mcp_value(c, "focus")->text;
	size_t len = focus ? strcspn(focus, ":") : 0;

	for (size_t i = 0; focus && kinds[i]; i++) {
		if (strlen(kinds[i]) != len || strncmp(focus, kinds[i], len) != 0)
			continue;
		if (focus[len] && focus[len + 1])
			add(a, "--%s=%s", kinds[i], focus + len + 1);
		else if (i == 4)
			add(a, "--step");
		else
			continue;
		return 0;
	}
	if (!focus)
		return 0;
	snprintf(c->why, sizeof(c->why),
		 "why: focus '%.60s': it takes thread:TID, process:PID, gpu:N, nvtx:RANGE, step or "
		 "step:N",
		 focus);
	return -1;
}

int mcp_call_why(struct mcp_call *c)
{
	bool is_list = mcp_value(c, "limit")->text;
	struct ask a;
	int rc;

	begin(&a, c, "why");
	if (is_list) {
		add(&a, "-f");
		add(&a, "json");
		add_bounds(&a, c, 0);
	}
	add_given(&a, c, "time", "time");
	if (add_focus(&a, c) < 0 || add_reports(&a, c, "report", 0) < 0) {
		end(&a);
		return -1;
	}
	if (is_list)
		return ask_json(&a, c);
	rc = run(&a, c);
	if (rc == 0)
		rc = put_text(c, a.run.text, a.run.len, a.run.status == SL_EXIT_ABSTAINED);
	end(&a);
	return rc;
}

/* A name of a report or rule, with arguments; a path of a file of SQL is none. */
static int check_name(struct mcp_call *c, const char *arg, const struct report_kind *kind)
{
	const char *name = mcp_value(c, arg)->text;
	struct report r;
	char why[MCP_WHY] = "it is one name";

	if (!strpbrk(name, "/,\\") && !strstr(name, ".sql") &&
	    report_load(kind, name, NULL, &r, why, sizeof(why)) == 0) {
		report_free(&r);
		return 0;
	}
	snprintf(c->why, sizeof(c->why), "%.200s; there are %s", why, report_names(kind) + 1);
	return -1;
}

static const char shorten[] = "SELECT json_object('schema_version', 1, 'report', ?2, 'findings', "
			      "json((SELECT json_group_array(json("
			      "json_remove(value, '$.report'))) FROM (SELECT value FROM "
			      "json_each(?1, '$.findings') LIMIT ?4))), 'clean',"
			      " json((SELECT json_group_array(json_extract(value, '$.rule')) FROM "
			      "json_each(?1, '$.rules') WHERE"
			      " json_extract(value, '$.result') = 'silent')), 'not_recorded', "
			      "json((SELECT json_group_object("
			      "json_extract(value, '$.missing'), n) FROM (SELECT value, count(*) "
			      "AS n FROM json_each(?1, '$.rules')"
			      " WHERE json_extract(value, '$.result') = 'no data' GROUP BY "
			      "json_extract(value, '$.missing')))))";

static const char without_evidence[] = "SELECT json_set(?1, '$.findings', json((SELECT "
				       "json_group_array(json(json_remove(value, '$.evidence')))"
				       " FROM json_each(?1, '$.findings'))))";

static int64_t number_of(const struct mcp_call *c, const char *sql, const char *json)
{
	char *text = mcp_sql_text(c->mcp, sql, json, NULL, NULL, 0);
	int64_t n = text ? atoll(text) : 0;

	free(text);
	return n;
}

/* Adds the members besides the findings. malloc'd */
static char *complete(const struct mcp_call *c, const char *json, int64_t left, bool is_abstained)
{
	char *next = next_call(c, true), count[64], *full, *all;

	snprintf(count, sizeof(count), "{\"findings\": {\"count\": %lld}}", (long long)left);
	if (left)
		full = mcp_sql_text(
			c->mcp, "SELECT json_set(?1, '$.omitted', json(?2), '$.next', json(?3))",
			json, count, next ? next : "null", 0);
	else if (is_abstained)
		full = mcp_sql_text(c->mcp,
				    "SELECT json_set(?1, '$.abstained', json('true'), '$.reason', "
				    "?2, '$.remedy', ?3)",
				    json, "no rule found the data that it looks at",
				    "'sightline profile --help' lists the options that record what "
				    "not_recorded names",
				    0);
	else
		full = strdup(json);
	all = full ? mcp_sql_text(c->mcp, "SELECT json_insert(?1, '$.texts', ?2)", full, MCP_DATA,
				  NULL, 0)
		   : NULL;
	free(next);
	free(full);
	return all;
}

/* As many findings as there is room for. */
static int put_findings(struct mcp_call *c, const char *text)
{
	const struct mcp_value *limit = mcp_value(c, "limit");
	const char *report = mcp_value(c, "report")->text;
	size_t taken = MARGIN + strlen(c->arguments) + strlen(MCP_DATA);
	int64_t all = number_of(c, "SELECT json_array_length(?1, '$.findings')", text);
	int64_t n = limit->text && limit->number < all ? limit->number : all;
	char *plain =
		mcp_sql_text(c->mcp, mcp_value(c, "rule")->text ? "SELECT ?1" : without_evidence,
			     text, NULL, NULL, 0);
	char *json = plain ? mcp_sql_text(c->mcp, shorten, plain, report, NULL, n) : NULL, *full;

	while (json && n > 0 && strlen(json) + taken > c->room) {
		free(json);
		json = mcp_sql_text(c->mcp, shorten, plain, report, NULL, --n);
	}
	full = json ? complete(c, json, all - n,
			       number_of(c, "SELECT json_extract(?1, '$.abstained')", text))
		    : NULL;
	if (full)
		writer_add(&c->out, full, strlen(full));
	else
		snprintf(c->why, sizeof(c->why), "findings: the command's answer is no JSON");
	free(plain);
	free(json);
	free(full);
	return c->out.len ? 0 : -1;
}

int mcp_call_findings(struct mcp_call *c)
{
	struct ask a;
	int rc = -1;

	begin(&a, c, "analyze");
	add(&a, "-q");
	add(&a, "--format=json");
	add(&a, "--limit=0");
	add(&a, "--max-bytes=0");
	if (mcp_value(c, "rule")->text && check_name(c, "rule", &rule_kind) < 0)
		goto done;
	add_given(&a, c, "rule", "rule");
	add_given(&a, c, "time", "filter-time");
	if (add_reports(&a, c, "report", 0) < 0)
		goto done;
	rc = run(&a, c);
	if (rc == 0)
		rc = put_findings(c, a.run.text);
done:
	end(&a);
	return rc;
}

int mcp_call_table(struct mcp_call *c)
{
	struct ask a;

	begin(&a, c, "stats");
	add(&a, "-q");
	add(&a, "--format=json");
	add_bounds(&a, c, 20);
	add_given(&a, c, "table", "report");
	add_given(&a, c, "time", "filter-time");
	add_given(&a, c, "nvtx", "filter-nvtx");
	add_given(&a, c, "pid", "filter-pid");
	if (check_name(c, "table", &report_kind) < 0 || add_reports(&a, c, "report", 0) < 0) {
		end(&a);
		return -1;
	}
	return ask_json(&a, c);
}

int mcp_call_compare(struct mcp_call *c)
{
	struct ask a;

	begin(&a, c, "compare");
	add(&a, "--format=json");
	add_bounds(&a, c, 5);
	add_given(&a, c, "kinds", "kinds");
	if (add_reports(&a, c, "base", 0) < 0 || add_reports(&a, c, "report", 1) < 0) {
		end(&a);
		return -1;
	}
	return ask_json(&a, c);
}

int mcp_call_sql(struct mcp_call *c)
{
	struct ask a;

	begin(&a, c, "sql");
	add(&a, "--format=json");
	add_bounds(&a, c, 50);
	if (add_reports(&a, c, "report", 0) < 0) {
		end(&a);
		return -1;
	}
	add(&a, "--");
	add(&a, "%s", mcp_value(c, "statement")->text);
	return ask_json(&a, c);
}

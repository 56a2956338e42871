/* tools_source.c - lines of source around a place, with their cost. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "exporters/mcp/mcp.h"

#define SOURCE_MAX (8u << 20)
#define LINES      5
#define LINES_MAX  200
#define LINE_MAX   300 /* bytes of a line in the answer */
#define OUTPUT_MAX (64u << 20)

struct place {
	char file[512];
	int64_t line, from, to;
};

static int read_place(struct mcp_call *c, struct place *p)
{
	const char *text = mcp_value(c, "place")->text, *colon = strrchr(text, ':');
	const struct mcp_value *lines = mcp_value(c, "lines");
	int64_t around = !lines->text                ? LINES
			 : lines->number > LINES_MAX ? LINES_MAX
						     : lines->number;
	char *end;

	p->line = colon ? strtol(colon + 1, &end, 10) : 0;
	if (!colon || p->line < 1 || *end || colon == text ||
	    (size_t)(colon - text) >= sizeof(p->file)) {
		snprintf(c->why, sizeof(c->why), "source: place '%.100s' is not FILE:LINE", text);
		return -1;
	}
	snprintf(p->file, sizeof(p->file), "%.*s", (int)(colon - text), text);
	p->from = p->line > around ? p->line - around : 1;
	p->to = p->line + around;
	return 0;
}

/* The answer of why, whole. malloc'd */
static char *ask_why(struct mcp_call *c)
{
	struct mcp_run run = {
		.fds = {-1, -1}, .folder = -1, .timeout_s = c->mcp->timeout_s, .max = OUTPUT_MAX};
	const char *words[] = {"sightline", "why", "--format=json", "--limit=0", "--max-bytes=0"};
	struct mcp_file file;
	char path[400], *text = NULL;

	if (mcp_find(c->mcp, mcp_value(c, "report")->text, &file, c->why, sizeof(c->why)) < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", file.dir, file.name);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		mcp_run_add(&run, words[i]);
	mcp_run_add(&run, path);
	run.fds[0] = file.dir;
	if (c->mcp->run(c->mcp, &run) == 0 && !run.is_late && !run.is_long &&
	    (run.status == 0 || run.status == SL_EXIT_ABSTAINED)) {
		text = run.text;
		run.text = NULL;
	} else {
		snprintf(c->why, sizeof(c->why), "source: %s",
			 run.is_late   ? "no answer in time"
			 : run.is_long ? "the report has too many causes"
				       : "the report cannot be read");
	}
	mcp_run_free(&run);
	close(file.dir);
	return text;
}

/* "12": ns, ... for lines of the file, by the causes of the partition. malloc'd JSON */
static char *costs_of(const struct mcp_call *c, const struct place *p, const char *why)
{
	return mcp_sql_text(
		c->mcp,
		"SELECT json_group_object(CAST(line AS TEXT), ns) FROM (SELECT json_extract(value, "
		"'$.line') AS line,"
		" sum(json_extract(value, '$.ns')) AS ns FROM json_each(?1, '$.partition') WHERE"
		" json_extract(value, '$.line') IS NOT NULL AND (json_extract(value, '$.file') = "
		"?2 OR"
		" substr(json_extract(value, '$.file'), -length(?2) - 1) = '/' || ?2) GROUP BY 1 "
		"ORDER BY 1)",
		why, p->file, NULL, 0);
}

/* The file, where it is below a folder of the server. malloc'd */
static char *read_source(struct mcp_call *c, const struct place *p, char *why, size_t why_len)
{
	struct mcp_file file;
	char *text = NULL;
	ssize_t got = -1;
	int fd;

	if (mcp_find(c->mcp, p->file, &file, why, why_len) < 0)
		return NULL;
	fd = mcp_file_open(&file);
	close(file.dir);
	text = fd >= 0 ? malloc(SOURCE_MAX + 1) : NULL;
	if (text)
		got = read(fd, text, SOURCE_MAX);
	if (fd >= 0)
		close(fd);
	if (got < 0) {
		snprintf(why, why_len, "%.200s cannot be read", p->file);
		free(text);
		return NULL;
	}
	text[got] = 0;
	return text;
}

static int64_t cost_of(const struct mcp_call *c, const char *costs, int64_t line)
{
	char path[40], *text;
	int64_t ns;

	snprintf(path, sizeof(path), "$.\"%lld\"", (long long)line);
	text = mcp_sql_text(c->mcp, "SELECT json_extract(?1, ?2)", costs, path, NULL, 0);
	ns = text ? atoll(text) : 0;
	free(text);
	return ns;
}

static void put_lines(struct mcp_call *c, const struct place *p, const char *text,
		      const char *costs)
{
	struct writer *w = &c->out;
	int64_t line = 1;

	json_open(w, "lines", '[');
	for (; *text && line <= p->to; line++) {
		size_t len = strcspn(text, "\n");

		if (line >= p->from && w->len + 800 < c->room) {
			json_open(w, NULL, '{');
			json_int(w, "line", line);
			json_int(w, "ns", cost_of(c, costs, line));
			json_bytes(w, "text", text, len < LINE_MAX ? len : LINE_MAX);
			json_close(w, '}');
		}
		text += len + (text[len] == '\n');
	}
	json_close(w, ']');
}

int mcp_call_source(struct mcp_call *c)
{
	struct place p;
	struct writer *w = &c->out;
	char why[MCP_WHY] = "", *answer, *costs, *text;

	if (read_place(c, &p) < 0 || !(answer = ask_why(c)))
		return -1;
	costs = costs_of(c, &p, answer);
	free(answer);
	text = read_source(c, &p, why, sizeof(why));
	json_open(w, NULL, '{');
	json_int(w, "schema_version", 1);
	json_text(w, "report", mcp_value(c, "report")->text);
	json_text(w, "file", p.file);
	json_int(w, "line", p.line);
	if (text) {
		put_lines(c, &p, text, costs ? costs : "{}");
	} else {
		json_bool(w, "abstained", true);
		json_text(w, "reason", why);
		json_text(w, "remedy",
			  "start the server with the folder of the source, too: sightline mcp "
			  "FOLDER SOURCES");
	}
	if (costs && strlen(costs) + w->len + 200 < c->room)
		json_raw(w, "ns_by_line", costs, strlen(costs));
	json_text(w, "texts", MCP_DATA);
	json_close(w, '}');
	free(text);
	free(costs);
	return 0;
}

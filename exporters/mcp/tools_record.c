/* tools_record.c - records a command, where the server was started with --allow-run. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "exporters/mcp/mcp.h"

#define SECONDS_MAX 3600
#define TAIL        1500 /* bytes of the program's output in the answer */
#define NAMES       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

/* Words of the command, as texts. 0, or -1. */
static int add_words(struct mcp_call *c, struct mcp_run *run, char **words, size_t max)
{
	sqlite3_stmt *stmt = NULL;
	size_t cnt = 0;
	int rc = 0;

	if (sqlite3_prepare_v2(c->mcp->sqlite, "SELECT value, type FROM json_each(?1)", -1, &stmt,
			       NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_text(stmt, 1, mcp_value(c, "command")->text, -1, SQLITE_STATIC);
	while (rc == 0 && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *word = (const char *)sqlite3_column_text(stmt, 0);

		if (cnt == max || !word ||
		    strcmp((const char *)sqlite3_column_text(stmt, 1), "text") != 0 ||
		    strlen(word) != (size_t)sqlite3_column_bytes(stmt, 0) ||
		    !(words[cnt] = strdup(word)))
			rc = -1;
		else
			mcp_run_add(run, words[cnt++]);
	}
	sqlite3_finalize(stmt);
	if (rc < 0 || cnt == 0)
		snprintf(c->why, sizeof(c->why), "record: 'command' is a list of 1 to %zu texts",
			 max);
	return cnt ? rc : -1;
}

static int check(struct mcp_call *c, char *file, size_t len)
{
	const char *name = mcp_value(c, "name")->text;
	struct stat st;

	if (!*name || *name == '.' || *name == '-' || name[strspn(name, NAMES)] ||
	    strlen(name) > 100) {
		snprintf(c->why, sizeof(c->why),
			 "record: 'name' has letters, digits, - and _, at most 100");
		return -1;
	}
	snprintf(file, len, "%s.sqlite", name);
	if (fstatat(c->mcp->folders[0].fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		snprintf(c->why, sizeof(c->why), "record: %s exists already; take another name",
			 file);
		return -1;
	}
	return 0;
}

static void put(struct mcp_call *c, const struct mcp_run *run, const char *file)
{
	struct writer *w = &c->out;
	struct stat st;
	bool is_there = fstatat(c->mcp->folders[0].fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0;

	json_open(w, NULL, '{');
	json_int(w, "schema_version", 1);
	if (is_there)
		json_text(w, "report", file);
	else
		json_null(w, "report");
	json_int(w, "exit_status", run->status);
	json_bool(w, "ended_by_timeout", run->is_late);
	json_text(w, "output", run->text);
	json_text(w, "messages", run->error);
	if (is_there)
		json_format(w, "next", "{\"tool\": \"why\", \"arguments\": {\"report\": \"%s\"}}",
			    file);
	json_text(w, "texts", MCP_DATA);
	json_close(w, '}');
}

int mcp_call_record(struct mcp_call *c)
{
	const struct mcp_value *seconds = mcp_value(c, "seconds");
	int64_t wanted = !seconds->text                  ? 60
			 : seconds->number > SECONDS_MAX ? SECONDS_MAX
							 : seconds->number;
	struct mcp_run run = {.fds = {-1, -1}, .is_tail = true, .max = TAIL};
	const char *traces = mcp_value(c, "traces")->text;
	char file[120], output[140], duration[40], trace[200], *words[24] = {0};
	int rc = check(c, file, sizeof(file));

	run.folder = c->mcp->folders[0].fd;
	run.timeout_s = (int)wanted + 30;
	snprintf(output, sizeof(output), "--output=%s", mcp_value(c, "name")->text);
	snprintf(duration, sizeof(duration), "--duration=%lld", (long long)wanted);
	snprintf(trace, sizeof(trace), "--trace=%.180s", traces ? traces : "");
	mcp_run_add(&run, "sightline");
	mcp_run_add(&run, "profile");
	mcp_run_add(&run, output);
	mcp_run_add(&run, duration);
	if (traces)
		mcp_run_add(&run, trace);
	mcp_run_add(&run, "--");
	if (rc == 0)
		rc = add_words(c, &run, words, 24);
	if (rc == 0 && c->mcp->run(c->mcp, &run) < 0) {
		snprintf(c->why, sizeof(c->why), "record: %.400s", run.error);
		rc = -1;
	}
	if (rc == 0)
		put(c, &run, file);
	for (int i = 0; i < 24; i++)
		free(words[i]);
	mcp_run_free(&run);
	return rc;
}

/* tools.c - a call of a tool: looks at its arguments, then runs it. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/options.h"
#include "exporters/mcp/mcp.h"

char *mcp_sql_text(const struct mcp *m, const char *sql, const char *json, const char *a,
		   const char *b, int64_t n)
{
	sqlite3_stmt *stmt = NULL;
	char *text = NULL;

	if (sqlite3_prepare_v2(m->sqlite, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, a, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, b, -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 4, n);
		if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
			text = strdup((const char *)sqlite3_column_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	return text;
}

const struct mcp_value *mcp_value(const struct mcp_call *c, const char *name)
{
	static const struct mcp_value none;

	for (int i = 0; i < MCP_ARGS && c->tool->args[i].name; i++)
		if (strcmp(c->tool->args[i].name, name) == 0)
			return &c->value[i];
	return &none;
}

static int arg_of(const struct mcp_tool *t, const char *name)
{
	for (int i = 0; i < MCP_ARGS && t->args[i].name; i++)
		if (strcmp(t->args[i].name, name) == 0)
			return i;
	return -1;
}

static int refuse_name(struct mcp_call *c, const char *name)
{
	char all[256] = "";
	const char *near = NULL;
	size_t len = 0;

	for (int i = 0; i < MCP_ARGS && c->tool->args[i].name; i++) {
		near = sl_nearest(name, near, c->tool->args[i].name);
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "",
					c->tool->args[i].name);
	}
	snprintf(c->why, sizeof(c->why), "%s has no argument '%.60s'%s%s%s; it takes %s",
		 c->tool->name, name, near ? ", did you mean '" : "", near ? near : "",
		 near ? "'?" : "", all);
	return -1;
}

/* One argument: its type and value, columns 1 and 2. */
static int take(struct mcp_call *c, int i, sqlite3_stmt *stmt)
{
	static const char *const wanted[] = {"a text", "a number from 1", "a list of texts"};
	const struct mcp_arg *a = &c->tool->args[i];
	const char *type = (const char *)sqlite3_column_text(stmt, 1);
	const char *text = (const char *)sqlite3_column_text(stmt, 2);
	struct mcp_value *v = &c->value[i];
	bool fits;

	if (strcmp(type, "null") == 0)
		return 0;
	v->number = sqlite3_column_int64(stmt, 2);
	fits = a->type == MCP_TEXT    ? strcmp(type, "text") == 0 || strcmp(type, "integer") == 0
	       : a->type == MCP_WORDS ? strcmp(type, "array") == 0
				      : strcmp(type, "integer") == 0 && v->number > 0;
	if (!fits || !text) {
		snprintf(c->why, sizeof(c->why), "%s: '%s' is %s", c->tool->name, a->name,
			 wanted[a->type]);
		return -1;
	}
	v->text = strdup(text);
	return v->text ? 0 : -1;
}

static int take_all(struct mcp_call *c, const char *arguments)
{
	sqlite3_stmt *stmt = NULL;
	int rc = 0, i;

	if (sqlite3_prepare_v2(c->mcp->sqlite, "SELECT key, type, value FROM json_each(?1)", -1,
			       &stmt, NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_text(stmt, 1, arguments ? arguments : "{}", -1, SQLITE_STATIC);
	while (rc == 0 && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		i = arg_of(c->tool, name ? name : "");
		if (i >= 0 && c->value[i].text) { /* the last one counts, as elsewhere */
			free((char *)(uintptr_t)c->value[i].text);
			c->value[i].text = NULL;
		}
		rc = i < 0 ? refuse_name(c, name ? name : "") : take(c, i, stmt);
	}
	sqlite3_finalize(stmt);
	for (i = 0; rc == 0 && i < MCP_ARGS && c->tool->args[i].name; i++)
		if (c->tool->args[i].is_needed && !c->value[i].text) {
			snprintf(c->why, sizeof(c->why), "%s: '%s' is missing: %s", c->tool->name,
				 c->tool->args[i].name, c->tool->args[i].about);
			rc = -1;
		}
	return rc;
}

int mcp_call(struct mcp_call *c, const char *arguments)
{
	const struct mcp_value *chars;
	int rc = -1;

	/* A path, or SQL, would end at a NUL. */
	if (arguments && strstr(arguments, "\\u0000"))
		snprintf(c->why, sizeof(c->why), "%s: a text has a NUL", c->tool->name);
	else
		rc = take_all(c, arguments);

	c->arguments = arguments ? arguments : "{}";
	chars = mcp_value(c, "chars");
	c->room = !chars->text                     ? MCP_ANSWER
		  : chars->number < 500            ? 500
		  : chars->number > MCP_ANSWER_MAX ? MCP_ANSWER_MAX
						   : (size_t)chars->number;
	if (rc == 0)
		rc = c->tool->call(c);
	for (int i = 0; i < MCP_ARGS; i++)
		free((char *)(uintptr_t)c->value[i].text);
	return rc;
}

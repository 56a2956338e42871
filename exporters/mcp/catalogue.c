/* catalogue.c - the tools, and their arguments as a JSON schema. */
#include <string.h>

#include "collector/base/options.h"
#include "exporters/mcp/mcp.h"

#define REPORT                                                                      \
	{                                                                           \
		"report", MCP_TEXT, true, "path of a report, as 'reports' lists it" \
	}
#define LIMIT                                                            \
	{                                                                \
		"limit", MCP_NUMBER, false, "elements of a list at most" \
	}
#define CHARS                                                                         \
	{                                                                             \
		"chars", MCP_NUMBER, false, "characters of the answer at most (6000)" \
	}
#define TIME                                                          \
	{                                                             \
		"time", MCP_TEXT, false, "only this time, as 12s-15s" \
	}

const struct mcp_tool mcp_tools[] = {
	{"reports",
	 "List the reports (recordings of programs) below the folders of this server, newest "
	 "first.",
	 mcp_call_reports,
	 false,
	 {{"folder", MCP_TEXT, false, "only below this folder"}, LIMIT, CHARS}},
	{"summary",
	 "What a report holds: command, duration, machine, tables with their rows, processes, what "
	 "was lost.",
	 mcp_call_summary,
	 false,
	 {REPORT, LIMIT, CHARS}},
	{"why",
	 "Where the wall time went and what was waited for: causes by line of code, and what a "
	 "change could win at "
	 "least and at most. As text; with limit as lists (partition, culprits, gains).",
	 mcp_call_why,
	 false,
	 {REPORT,
	  {"focus", MCP_TEXT, false,
	   "thread:TID, process:PID, gpu:N, nvtx:RANGE, step, step:N (default: the main thread)"},
	  TIME,
	  LIMIT,
	  CHARS}},
	{"findings",
	 "Known faults that rules find, by cost, each with figures and a remedy; which rules "
	 "looked and found nothing, "
	 "and which lacked data.",
	 mcp_call_findings,
	 false,
	 {REPORT,
	  {"rule", MCP_TEXT, false, "only this rule, with its evidence; NAME:ARG=VALUE"},
	  TIME,
	  LIMIT,
	  CHARS}},
	{"table",
	 "A table of figures: osrt_sum (libc calls), cuda_gpu_kern_sum, cuda_api_sum, nvtx_sum, "
	 "file_access_sum, "
	 "thread_sum, ... A wrong name is answered with all names.",
	 mcp_call_table,
	 false,
	 {REPORT,
	  {"table", MCP_TEXT, true, "name of the table; NAME:ARG=VALUE"},
	  TIME,
	  {"nvtx", MCP_TEXT, false, "only inside such an NVTX range"},
	  {"pid", MCP_TEXT, false, "only of these processes: PID,..."},
	  LIMIT,
	  CHARS}},
	{"compare",
	 "What changed between two recordings, with the probability of chance where several runs "
	 "are given.",
	 mcp_call_compare,
	 false,
	 {{"base", MCP_TEXT, true, "report before; several runs: A,B,C"},
	  {"report", MCP_TEXT, true, "report after; several runs: A,B,C"},
	  {"kinds", MCP_TEXT, false, "wall,cpu,gpu_busy,kernel,api,osrt,nvtx,step,file,..."},
	  LIMIT,
	  CHARS}},
	{"source",
	 "Lines of source around a place that 'why' names, each with the time that it cost.",
	 mcp_call_source,
	 false,
	 {REPORT,
	  {"place", MCP_TEXT, true, "FILE:LINE"},
	  {"lines", MCP_NUMBER, false, "lines before and after (5)"},
	  CHARS}},
	{"sql",
	 "Run a SELECT on a report (SQLite; read-only; times are ns; StringIds has the texts). The "
	 "tables: "
	 "SELECT name FROM sqlite_master.",
	 mcp_call_sql,
	 false,
	 {REPORT, {"statement", MCP_TEXT, true, "SQL"}, LIMIT, CHARS}},
	{"record",
	 "Run a command in the first folder of this server and record it into a new report there.",
	 mcp_call_record,
	 true,
	 {{"command", MCP_WORDS, true, "program and arguments"},
	  {"name", MCP_TEXT, true, "name of the report: letters, digits, - and _"},
	  {"seconds", MCP_NUMBER, false, "end after this time (60)"},
	  {"traces", MCP_TEXT, false, "cuda,nvtx,osrt,... (default: what profile takes)"},
	  CHARS}},
	{0},
};

static bool is_here(const struct mcp *m, const struct mcp_tool *t)
{
	return !t->writes || m->may_run;
}

const struct mcp_tool *mcp_tool(const struct mcp *m, const char *name)
{
	for (const struct mcp_tool *t = mcp_tools; t->name; t++)
		if (is_here(m, t) && strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

const char *mcp_tool_near(const struct mcp *m, const char *name)
{
	const char *near = NULL;

	for (const struct mcp_tool *t = mcp_tools; t->name; t++)
		if (is_here(m, t))
			near = sl_nearest(name, near, t->name);
	return near;
}

static void put_arg(struct writer *w, const struct mcp_arg *a)
{
	static const char *const types[] = {"string", "integer", "array"};

	json_open(w, a->name, '{');
	json_text(w, "type", types[a->type]);
	if (a->type == MCP_NUMBER)
		json_int(w, "minimum", 1);
	if (a->type == MCP_WORDS) {
		json_open(w, "items", '{');
		json_text(w, "type", "string");
		json_close(w, '}');
	}
	json_text(w, "description", a->about);
	json_close(w, '}');
}

static void put_tool(struct writer *w, const struct mcp_tool *t)
{
	json_open(w, NULL, '{');
	json_text(w, "name", t->name);
	json_text(w, "description", t->about);
	json_open(w, "inputSchema", '{');
	json_text(w, "type", "object");
	json_open(w, "properties", '{');
	for (int i = 0; i < MCP_ARGS && t->args[i].name; i++)
		put_arg(w, &t->args[i]);
	json_close(w, '}');
	json_open(w, "required", '[');
	for (int i = 0; i < MCP_ARGS && t->args[i].name; i++)
		if (t->args[i].is_needed)
			json_text(w, NULL, t->args[i].name);
	json_close(w, ']');
	json_bool(w, "additionalProperties", false);
	json_close(w, '}');
	json_open(w, "annotations", '{');
	json_bool(w, "readOnlyHint", !t->writes);
	json_bool(w, "openWorldHint", t->writes);
	json_close(w, '}');
	json_close(w, '}');
}

void mcp_put_catalogue(struct writer *w, const struct mcp *m)
{
	json_open(w, "tools", '[');
	for (const struct mcp_tool *t = mcp_tools; t->name; t++)
		if (is_here(m, t))
			put_tool(w, t);
	json_close(w, ']');
}

/* mcp.c - messages of the Model Context Protocol. Commands are not run: a stand-in answers with a part of the message. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "exporters/mcp/mcp.h"

static const uint8_t *given;
static size_t given_len;

static int stand_in(const struct mcp *m, struct mcp_run *run)
{
	(void)m;
	/* What the client names never becomes another command. */
	if (run->argc < 2 || strcmp(run->argv[0], "sightline") != 0)
		abort();
	run->text = malloc(given_len + 1);
	memcpy(run->text, given, given_len);
	run->text[given_len] = 0;
	run->len = strlen(run->text);
	run->status = given_len % 5;
	return 0;
}

static struct mcp mcp = {.run = stand_in, .may_run = true, .out = -1, .timeout_s = 1};

static void init(void)
{
	char *folders[] = {(char *)(uintptr_t)fuzz_dir()}, path[200], why[MCP_WHY];

	snprintf(path, sizeof(path), "%s/r.sqlite", fuzz_dir());
	fuzz_file(path, "SQLite format 3", 16);
	if (mcp_open(&mcp, folders, 1, why, sizeof(why)) < 0)
		abort();
}

/* A call that is JSON whatever the input is: a tool, and its arguments as texts or numbers out of it. malloc'd */
static char *call_of(const uint8_t *data, size_t len)
{
	struct writer w = {0};
	const struct mcp_tool *t = &mcp_tools[data[0] % 9];

	json_open(&w, NULL, '{');
	json_text(&w, "jsonrpc", "2.0");
	json_int(&w, "id", data[1]);
	json_text(&w, "method", "tools/call");
	json_open(&w, "params", '{');
	json_text(&w, "name", t->name);
	json_open(&w, "arguments", '{');
	for (size_t i = 0, at = 2; i < MCP_ARGS && t->args[i].name && at + 1 < len; i++) {
		size_t part = data[at] % 40u;

		at++;
		part = part < len - at ? part : len - at;
		if (t->args[i].type == MCP_NUMBER)
			json_int(&w, t->args[i].name, data[at] * 97);
		else if (strstr("report base", t->args[i].name) && data[at] % 4)
			json_text(&w, t->args[i].name,
				  data[at] % 4 > 1 ? "r.sqlite" : "r.sqlite,./r.sqlite");
		else
			json_bytes(&w, t->args[i].name, (const char *)data + at, part);
		at += part;
	}
	json_close(&w, '}');
	json_close(&w, '}');
	json_close(&w, '}');
	writer_add(&w, "", 1);
	return w.data;
}

static void run(const uint8_t *data, size_t len)
{
	char *text, *made;

	given = data;
	given_len = len;
	made = len > 2 && *data != '{' ? call_of(data, len) : NULL;
	text = mcp_answer(&mcp, made ? made : (const char *)data, made ? strlen(made) : len);
	free(made);
	if (text && (*text != '{' || strchr(text, '\n')))
		abort(); /* an answer is a line */
	free(text);
}

#define CALL(tool, arguments)                                                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" tool \
	"\",\"arguments\":" arguments "}}"

static size_t seed(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	static const char *const texts[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		"\"protocolVersion\":\"2025-06-18\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"server/"
		"discover\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
		"protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
		"clientCapabilities\":{}}}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"tools/list\"}",
		CALL("reports", "{\"folder\":\"a\",\"limit\":3}"),
		CALL("summary", "{\"report\":\"r.sqlite\"}"),
		CALL("why", "{\"report\":\"r.sqlite\",\"focus\":\"gpu:0\",\"chars\":600}"),
		CALL("findings", "{\"report\":\"r.sqlite\",\"rule\":\"gpu_gaps:gap=1\"}"),
		CALL("table", "{\"report\":\"./r.sqlite\",\"table\":\"osrt_sum\",\"limit\":2}"),
		CALL("compare", "{\"base\":\"r.sqlite,r.sqlite\",\"report\":\"r.sqlite\"}"),
		CALL("source", "{\"report\":\"r.sqlite\",\"place\":\"r.sqlite:1\"}"),
		CALL("sql", "{\"report\":\"r.sqlite\",\"statement\":\"SELECT 1\"}"),
		CALL("record", "{\"command\":[\"true\"],\"name\":\"n\",\"seconds\":1}"),
		/* Of call_of(). */
		"\1a\10r.sqlite\1\1",
		"\2a\1\1\5gpu:0\10{\"a\": 1}",
		"\3a\1\1\10gpu_gaps{\"findings\":[{\"rule\":\"x\"}],\"rules\":[]}",
		"\4a\1\1\10osrt_sum\61s-2s{\"rows\":[],\"next\":\"x\"}",
		"\6a\1\1\12r.sqlite:1{\"partition\":[{\"line\":1}]}",
		"\7a\1\1\10SELECT 1[]",
		NULL,
	};

	return fuzz_text_seed(texts, i, to);
}

const struct fuzz_target fuzz_mcp = {"mcp", run, seed, init};

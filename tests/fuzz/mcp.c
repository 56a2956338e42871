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

static void run(const uint8_t *data, size_t len)
{
	char *text;

	given = data;
	given_len = len;
	text = mcp_answer(&mcp, (const char *)data, len);
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
		NULL,
	};

	return fuzz_text_seed(texts, i, to);
}

const struct fuzz_target fuzz_mcp = {"mcp", run, seed, init};

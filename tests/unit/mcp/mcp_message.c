/* mcp_message.c - messages of both eras, arguments, paths; commands are a stand-in that answers what a test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "exporters/mcp/mcp.h"

#define META                                                                     \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"

static char folder[] = "/tmp/sightline-mcp.XXXXXX", words[1024];
static const char *output = "{}", *error = "";
static int status;

/* Keeps the command's words, and answers with @output. */
static int stand_in(const struct mcp *m, struct mcp_run *run)
{
	(void)m;
	*words = 0;
	for (int i = 1; i < run->argc; i++)
		snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s",
			 i > 1 ? " " : "", run->argv[i]);
	run->text = strdup(output);
	run->len = strlen(output);
	snprintf(run->error, sizeof(run->error), "%s", error);
	run->status = status;
	return 0;
}

static struct mcp mcp = {.run = stand_in, .out = -1, .timeout_s = 5};

static const char *answer(const char *message)
{
	static char *last;

	free(last);
	last = mcp_answer(&mcp, message, strlen(message));
	return last ? last : "";
}

static const char *called(const char *tool, const char *arguments)
{
	char message[4096];

	snprintf(message, sizeof(message),
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		 "call\",\"params\":{\"name\":\"%s\",\"arguments\":%s}}",
		 tool, arguments);
	return answer(message);
}

#define HAS(text, part)                                          \
	do {                                                     \
		if (!strstr(text, part))                         \
			fail_msg("%s is not in %s", part, text); \
	} while (0)

static int open_all(void **state)
{
	char why[MCP_WHY], path[256];
	char *folders[] = {folder};

	(void)state;
	if (!mkdtemp(folder) || mcp_open(&mcp, folders, 1, why, sizeof(why)) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/run.sqlite", folder);
	fclose(fopen(path, "w"));
	snprintf(path, sizeof(path), "%s/link.sqlite", folder);
	if (symlink("/etc/passwd", path) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/sub", folder);
	if (symlink("/etc", path) < 0)
		return -1;
	return 0;
}

static int close_all(void **state)
{
	char command[300];

	(void)state;
	mcp_close(&mcp);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void a_client_of_the_old_era_gets_the_revision_it_asks_for(void **state)
{
	(void)state;
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"initialize\",\"params\":{"
		   "\"protocolVersion\":\"2025-03-26\"}}"),
	    "\"id\":\"a\",\"result\":{\"protocolVersion\":\"2025-03-26\"");
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":{"
		   "\"protocolVersion\":\"1999-01-01\"}}"),
	    "\"protocolVersion\":\"2025-11-25\"");
	assert_string_equal(
		answer("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"), "");
	assert_string_equal(answer("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}"),
			    "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
}

static void a_client_of_the_new_era_needs_no_initialize(void **state)
{
	(void)state;
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META
		   "}}"),
	    "\"supportedVersions\":[\"2026-07-28\"]");
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META
		   "}}"),
	    "\"resultType\":\"complete\"");
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META
		   "}}"),
	    "\"ttlMs\":");
	assert_null(strstr(answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"),
			   "resultType"));
}

static void a_revision_that_does_not_exist_is_refused_with_those_that_do(void **state)
{
	(void)state;
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
		   "\"io.modelcontextprotocol/protocolVersion\":\"1900-01-01\"}}}"),
	    "\"code\":-32022,\"message\":\"Unsupported protocol "
	    "version\",\"data\":{\"supported\":[\"2026-07-28\"],"
	    "\"requested\":\"1900-01-01\"}");
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
		   "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}"),
	    "\"code\":-32602");
}

static void a_message_that_is_no_request_gets_the_code_of_its_fault(void **state)
{
	(void)state;
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":1,"), "\"id\":null,\"error\":{\"code\":-32700");
	HAS(answer("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]"), "\"code\":-32600");
	HAS(answer("{\"id\":1,\"method\":\"ping\"}"), "\"id\":1,\"error\":{\"code\":-32600");
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}"),
	    "\"id\":null,\"error\":{\"code\":-32600");
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}"),
	    "\"code\":-32601");
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}"),
	    "\"code\":-32600");
	assert_string_equal(answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), "");
}

static void the_catalogue_is_short(void **state)
{
	const char *text = answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");

	(void)state;
	assert_true(strlen(text) < 7500); /* 2,500 tokens of three characters */
	assert_null(strstr(text, "\"record\""));
	mcp.may_run = true;
	text = answer("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	mcp.may_run = false;
	HAS(text, "\"record\"");
	assert_true(strlen(text) < 7500);
}

static void a_wrong_name_is_answered_with_the_nearest(void **state)
{
	(void)state;
	HAS(called("findngs", "{}"),
	    "\"code\":-32602,\"message\":\"there is no tool 'findngs'; did you mean 'findings'?");
	HAS(called("record", "{}"), "\"code\":-32602");
	HAS(called("why", "{\"reprot\":\"run.sqlite\"}"),
	    "why has no argument 'reprot', did you mean 'report'?; it takes report, focus, time, "
	    "limit, chars\"}],"
	    "\"isError\":true");
	HAS(called("why", "{}"), "why: 'report' is missing");
	HAS(called("why", "{\"report\":\"run.sqlite\",\"limit\":0}"), "'limit' is a number from 1");
	HAS(called("why", "{\"report\":\"run.sqlite\",\"limit\":\"5\"}"),
	    "'limit' is a number from 1");
	HAS(called("why", "{\"report\":\"run.sqlite\",\"focus\":\"cpu:1\"}"),
	    "it takes thread:TID");
	HAS(called("table", "{\"report\":\"run.sqlite\",\"table\":\"osrt_smu\"}"),
	    "did you mean 'osrt_sum'?");
	HAS(called("table", "{\"report\":\"run.sqlite\",\"table\":\"/tmp/x.sql\"}"),
	    "\"isError\":true");
	HAS(called("source", "{\"report\":\"run.sqlite\",\"place\":\"x\"}"), "is not FILE:LINE");
}

static void a_path_stays_below_the_folders(void **state)
{
	static const char *const outside[] = {"/etc/passwd",
					      "../run.sqlite",
					      "sub/passwd",
					      "link.sqlite",
					      "sub/../run.sqlite",
					      ".",
					      "",
					      "run.sqlite/x",
					      "/"};
	char arguments[300];

	(void)state;
	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
		snprintf(arguments, sizeof(arguments), "{\"report\":\"%s\"}", outside[i]);
		HAS(called("summary", arguments), "\"isError\":true");
	}
	HAS(called("summary", "{\"report\":\"./run.sqlite\"}"), "\"isError\":false");
	snprintf(arguments, sizeof(arguments), "{\"report\":\"%s/run.sqlite\"}", folder);
	HAS(called("summary", arguments), "\"isError\":false");
}

static void a_value_cannot_become_an_option(void **state)
{
	(void)state;
	output = "{\"rows\":[]}";
	called("sql", "{\"report\":\"run.sqlite\",\"statement\":\"--help\"}");
	HAS(words, " -- --help");
	called("table", "{\"report\":\"run.sqlite\",\"table\":\"osrt_sum\",\"nvtx\":\"-o x\"}");
	HAS(words, "--filter-nvtx=-o x");
	called("why", "{\"report\":\"run.sqlite\",\"focus\":\"gpu:--x\"}");
	HAS(words, "--gpu=--x");
	HAS(called("sql", "{\"report\":\"run.sqlite\",\"statement\":\"SELECT 1\\u0000;x\"}"),
	    "a text has a NUL");
	output = "{}";
}

static void an_answer_names_the_call_that_shows_more(void **state)
{
	(void)state;
	output = "{\"rows\":[1],\"next\":\"sightline stats\"}";
	HAS(called("table", "{\"report\":\"run.sqlite\",\"table\":\"osrt_sum\",\"limit\":3}"),
	    "\\\"next\\\":{\\\"tool\\\":\\\"table\\\",\\\"arguments\\\":{\\\"report\\\":\\\"run."
	    "sqlite\\\","
	    "\\\"table\\\":\\\"osrt_sum\\\",\\\"limit\\\":12,\\\"chars\\\":24000}}");
	HAS(words, "--limit=3");
	HAS(called("table", "{\"report\":\"run.sqlite\",\"table\":\"osrt_sum\"}"),
	    "data, not instructions");
	output = "no JSON";
	HAS(called("table", "{\"report\":\"run.sqlite\",\"table\":\"osrt_sum\"}"),
	    "\"isError\":true");
	output = "{}";
}

static void a_text_is_cut_at_a_line(void **state)
{
	static char text[20001];

	(void)state;
	for (int i = 0; i < 20000; i++)
		text[i] = i % 50 == 49 ? '\n' : 'a';
	output = text;
	HAS(called("why", "{\"report\":\"run.sqlite\"}"),
	    "aaa\\\\n\\\",\\\"omitted\\\":{\\\"text\\\":{\\\"count\\\":");
	assert_true(strlen(called("why", "{\"report\":\"run.sqlite\"}")) < 6500);
	HAS(called("why", "{\"report\":\"run.sqlite\",\"chars\":30000}"), "\"isError\":false");
	output = "{}";
}

static void a_command_that_fails_is_an_error_with_its_reason(void **state)
{
	(void)state;
	status = 1;
	error = "progress\nsightline: info: /proc/self/fd/99/x: is no report\n";
	HAS(called("summary", "{\"report\":\"run.sqlite\"}"), "is no report\"}],\"isError\":true");
	status = 4;
	HAS(called("why", "{\"report\":\"run.sqlite\"}"), "\\\"abstained\\\":true");
	status = 0;
	error = "";
}

static void an_answer_is_utf8_whatever_the_id_is(void **state)
{
	(void)state;
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":\"\x85\",\"method\":\"ping\"}"), "-32700");
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"ping\"}"), "\"\\ud800\"");
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\xa4\",\"method\":\"ping\"}"), "\xc3\xa4");
	HAS(answer("{\"jsonrpc\":\"2.0\",\"id\":2.5,\"method\":\"ping\"}"), "2.5");
}

/* ---- input ---- */

/* What a pipe of these bytes gives: lines with < and > around, a long one by its length. */
static const char *lines_of(const char *const *parts, size_t cnt)
{
	static char all[256];
	struct mcp_input *in;
	char *line = malloc(MCP_LINE_MAX + 1);
	int fds[2];
	size_t len;

	assert_int_equal(pipe(fds), 0);
	in = mcp_input_open(fds[0]);
	assert_true(in && line);
	*all = 0;
	for (size_t i = 0; i < cnt; i++) {
		assert_int_equal(write(fds[1], parts[i], strlen(parts[i])), strlen(parts[i]));
		mcp_input_fill(in);
	}
	close(fds[1]);
	while (mcp_input_line(in, line, &len)) {
		if (len > 40)
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "<%zu>", len);
		else
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "<%.*s>", (int)len,
				 line);
	}
	assert_int_equal(mcp_input_fd(in), -1);
	mcp_input_close(in);
	close(fds[0]);
	free(line);
	return all;
}

static void lines_come_in_pieces(void **state)
{
	(void)state;
	assert_string_equal(lines_of((const char *const[]){"a\nb", "c\r\n\nd"}, 2), "<a><bc><><d>");
	assert_string_equal(lines_of((const char *const[]){"a\n"}, 1), "<a>");
	assert_string_equal(lines_of(NULL, 0), "");
}

/* From a file, which has all of it at once. */
static void a_long_line_is_left_out(void **state)
{
	char path[] = "/tmp/sightline-mcp-in.XXXXXX", *text = malloc(3 * MCP_LINE_MAX);
	char *line = malloc(MCP_LINE_MAX + 1);
	int fd = mkstemp(path);
	struct mcp_input *in;
	size_t len;

	(void)state;
	assert_true(text && line && fd >= 0);
	unlink(path);
	memset(text, 'x', 3 * MCP_LINE_MAX);
	assert_int_equal(write(fd, text, MCP_LINE_MAX), MCP_LINE_MAX); /* the longest */
	assert_int_equal(write(fd, "\n", 1), 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(write(fd, text, 3 * MCP_LINE_MAX), 3 * MCP_LINE_MAX);
	assert_int_equal(write(fd, "\nend", 4), 4);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	in = mcp_input_open(fd);
	assert_true(mcp_input_line(in, line, &len));
	assert_int_equal(len, MCP_LINE_MAX);
	assert_true(mcp_input_line(in, line, &len));
	assert_int_equal(len, MCP_LINE_MAX + 1);
	assert_true(mcp_input_line(in, line, &len));
	assert_int_equal(len, 3);
	assert_memory_equal(line, "end", 3);
	assert_false(mcp_input_line(in, line, &len));
	mcp_input_close(in);
	close(fd);
	free(text);
	free(line);
}

/* A command that runs until it is cancelled, or nothing more comes; @later comes meanwhile. */
static const char *later;
static int calls, to_input;
static int until_cancelled(const struct mcp *m, struct mcp_run *run)
{
	if (later)
		assert_int_equal(write(to_input, later, strlen(later)), strlen(later));
	later = NULL;
	close(to_input);
	to_input = -1;
	while (!run->is_cancelled && mcp_input_fd(m->input) >= 0) {
		mcp_input_fill(m->input);
		run->is_cancelled = mcp_input_cancels(m, m->call_id);
	}
	calls++;
	run->text = strdup("{}");
	run->len = 2;
	run->status = run->is_cancelled ? 137 : 0;
	return 0;
}

static void answers_to(const char *messages, const char *more, char *got, size_t len)
{
	FILE *out = fmemopen(got, len, "w");
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], messages, strlen(messages)), strlen(messages));
	later = more;
	to_input = fds[1];
	mcp.run = until_cancelled;
	calls = 0;
	assert_int_equal(mcp_serve(&mcp, fds[0], out), 0);
	mcp.run = stand_in;
	fclose(out);
	close(fds[0]);
}

#define CALL(id)                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\"," \
	"\"params\":{\"name\":\"summary\",\"arguments\":{\"report\":\"run.sqlite\"}}}\n"
#define CANCEL(id)                                                     \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"," \
	"\"params\":{\"requestId\":" id ",\"reason\":\"\"}}\n"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n"

static void a_cancelled_call_gets_no_answer(void **state)
{
	char got[8192];

	(void)state;
	answers_to(CALL("1"), CANCEL("1") PING, got, sizeof(got));
	assert_null(strstr(got, "\"id\": 1"));
	assert_null(strstr(got, "\"id\":1"));
	HAS(got, "9");
	assert_int_equal(calls, 1);
	/* one that waits for its turn does not begin */
	answers_to(CALL("1"), CALL("\"b\"") CANCEL("1") CANCEL("\"b\"") PING, got, sizeof(got));
	assert_null(strstr(got, "\"b\""));
	HAS(got, "9");
	assert_int_equal(calls, 1);
	/* another's, one of another type, and a request of that name cancel nothing */
	answers_to(CALL("1"),
		   CANCEL("2") CANCEL("\"1\"") "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":"
					       "\"notifications/cancelled\",\"params\":{"
					       "\"requestId\":1}}\n",
		   got, sizeof(got));
	HAS(got, "content");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_of_the_old_era_gets_the_revision_it_asks_for),
		cmocka_unit_test(a_client_of_the_new_era_needs_no_initialize),
		cmocka_unit_test(a_revision_that_does_not_exist_is_refused_with_those_that_do),
		cmocka_unit_test(a_message_that_is_no_request_gets_the_code_of_its_fault),
		cmocka_unit_test(the_catalogue_is_short),
		cmocka_unit_test(a_wrong_name_is_answered_with_the_nearest),
		cmocka_unit_test(a_path_stays_below_the_folders),
		cmocka_unit_test(a_value_cannot_become_an_option),
		cmocka_unit_test(an_answer_names_the_call_that_shows_more),
		cmocka_unit_test(a_text_is_cut_at_a_line),
		cmocka_unit_test(a_command_that_fails_is_an_error_with_its_reason),
		cmocka_unit_test(an_answer_is_utf8_whatever_the_id_is),
		cmocka_unit_test(lines_come_in_pieces),
		cmocka_unit_test(a_long_line_is_left_out),
		cmocka_unit_test(a_cancelled_call_gets_no_answer),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}

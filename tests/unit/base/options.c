/* options.c - option tables: every spelling, every refusal, and what `profile` makes of its words. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/options/profile_options.h"

static char said[8192]; /* what the last quiet() section wrote */
static int capture_fd, capture_saved, capture_was;

/* What is written to @fd between these two calls is kept in a buffer, for captured(). */
static void capture(int fd)
{
	fflush(stdout);
	capture_was = fd;
	capture_saved = dup(fd);
	capture_fd = memfd_create("said", 0);
	dup2(capture_fd, fd);
}

static void captured(void)
{
	ssize_t len;

	fflush(stdout);
	len = pread(capture_fd, said, sizeof(said) - 1, 0);
	said[len > 0 ? len : 0] = '\0';
	dup2(capture_saved, capture_was);
	close(capture_saved);
	close(capture_fd);
}

static bool flag, truth, seen;
static int64_t number;
static const char *string, *maybe, *choice, *list, *unused;
static const struct opt opts[] = {
	{.kind = OPT_ABOUT, .values = "sightline try [options] WHAT", .help = "Example:\n  try it"},
	{.kind = OPT_GROUP, .help = "Things:"},
	{'q', "quiet", OPT_FLAG, NULL, NULL, "say nothing", &flag, NULL},
	{'b', "bool", OPT_BOOL, NULL, NULL, "a truth", &truth, NULL},
	{'n', "number", OPT_INT, "-5:100", "N", "a number", &number, &seen},
	{'o', "output", OPT_STRING, NULL, "NAME", "a name\non two lines", &string, NULL},
	{0, "maybe", OPT_MAYBE, NULL, "N", "of one, or of all", &maybe, NULL},
	{0, "choice", OPT_ENUM, "red,green,blue", "COLOUR", "a colour", &choice, NULL},
	{'l', "list", OPT_LIST, "one,two,three", "A,B", "several", &list, NULL},
	{0, "any-list", OPT_LIST, NULL, "A,B", "several of any", &unused, NULL},
	{'s', "sample", OPT_LATER, "process-tree,none", NULL, "", NULL, NULL},
	{0, "later-flag", OPT_LATER, "", NULL, "", NULL, NULL},
	{0, "later-bool", OPT_LATER, "bool", NULL, "", NULL, NULL},
	{0, "hidden", OPT_LATER, "X", NULL, NULL, NULL, NULL},
	{0},
};

static int parse(const char **argv)
{
	int argc = 0, rc;

	while (argv[argc])
		argc++;
	flag = truth = seen = false;
	number = 0;
	string = maybe = choice = list = unused = NULL;
	capture(2);
	rc = opt_parse(opts, argc, (char **)argv, "try");
	captured();
	return rc;
}
#define PARSE(...) parse((const char *[]){"try", __VA_ARGS__, NULL})

static void every_spelling_of_a_value_is_understood(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--output=a", "rest"), 2);
	assert_string_equal(string, "a");
	assert_int_equal(PARSE("--output", "a b", "rest"), 3);
	assert_string_equal(string, "a b");
	assert_int_equal(PARSE("-oa"), 2);
	assert_string_equal(string, "a");
	assert_int_equal(PARSE("-o", "a"), 3);
	assert_string_equal(string, "a");
	assert_int_equal(PARSE("-o=a"), 2);
	assert_string_equal(string, "a");
	assert_int_equal(PARSE("--output="), 2);
	assert_string_equal(string, "");
	assert_int_equal(PARSE("--output=a=b"), 2);
	assert_string_equal(string, "a=b");
	assert_string_equal(said, "");
}

static void options_end_at_the_first_operand(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-q", "prog", "-b", "--nonsense"), 2);
	assert_true(flag);
	assert_false(truth);
	assert_int_equal(PARSE("-q", "--", "-b"), 3);
	assert_false(truth);
	assert_int_equal(PARSE("-", "x"), 1);
	assert_int_equal(parse((const char *[]){"try", NULL}), 1);
}

static void a_truth_takes_the_next_word_only_when_it_is_one(void **state)
{
	static const char *const yes[] = {"true", "yes", "1", "TRUE"}, *const no[] = {"false", "no",
										      "0"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(PARSE("-b", yes[i], "prog"), 3);
		assert_true(truth);
	}
	for (size_t i = 0; i < 3; i++) {
		truth = true;
		assert_int_equal(PARSE("--bool", no[i], "prog"), 3);
		assert_false(truth);
	}
	assert_int_equal(PARSE("-b", "prog"), 2);
	assert_true(truth);
	assert_int_equal(PARSE("-bfalse", "prog"), 2);
	assert_false(truth);
	assert_int_equal(PARSE("-b=yes", "prog"), 2);
	assert_true(truth);
	assert_int_equal(PARSE("--bool=maybe"), -SL_EXIT_USAGE);
	assert_string_equal(said,
			    "sightline: try: option '--bool' takes true or false, not 'maybe' "
			    "(see 'sightline try --help')\n");
}

static void an_optional_value_takes_the_next_word_only_when_it_is_a_number(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--maybe", "17", "rest"), 3);
	assert_string_equal(maybe, "17");
	assert_int_equal(PARSE("--maybe", "17.sqlite"), 2);
	assert_string_equal(maybe, "");
	assert_int_equal(PARSE("--maybe"), 2);
	assert_string_equal(maybe, "");
	assert_int_equal(PARSE("--maybe=a step", "rest"), 2);
	assert_string_equal(maybe, "a step");
	assert_string_equal(said, "");
}

static void letters_without_value_may_stand_together(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-qn5", "x"), 2);
	assert_true(flag);
	assert_int_equal(number, 5);
	assert_int_equal(PARSE("-qz"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "unknown option '-z'"));
}

static void numbers_are_checked_whole_and_for_range(void **state)
{
	static const char *const bad[] = {"",   "x",  "5x",  "101",
					  "-6", " 5", "5.0", "99999999999999999999"};

	(void)state;
	assert_int_equal(PARSE("-n", "-5"), 3);
	assert_int_equal(number, -5);
	assert_true(seen);
	assert_int_equal(PARSE("--number=100"), 2);
	assert_int_equal(number, 100);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(PARSE("--number", bad[i]), -SL_EXIT_USAGE);
		assert_non_null(strstr(said, "takes a whole number from -5 to 100, not '"));
		assert_false(seen);
	}
}

static void repeated_lists_add_up(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-l", "one,two", "--list=three", "-lone"), 5);
	assert_string_equal(list, "one,two,three,one");
	assert_int_equal(PARSE("--any-list=a", "--any-list", "b,c"), 4);
	assert_string_equal(unused, "a,b,c");
	assert_int_equal(PARSE("-l", "one,thre"), -SL_EXIT_USAGE);
	assert_string_equal(
		said, "sightline: try: option '--list' does not know 'thre'; did you mean 'three'? "
		      "(see 'sightline try --help')\n");
}

static void a_wrong_word_gets_the_nearest_valid_one(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--outptu=x"), -SL_EXIT_USAGE);
	assert_string_equal(said,
			    "sightline: try: unknown option '--outptu'; did you mean '--output'? "
			    "(see 'sightline try --help')\n");
	assert_int_equal(PARSE("--out"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "did you mean '--output'?"));
	assert_int_equal(PARSE("-output"), 2); /* is -o utput: a valid spelling */
	assert_int_equal(PARSE("-choice"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "unknown option '-choice'; did you mean '--choice'?"));
	assert_int_equal(PARSE("--xyzzy"), -SL_EXIT_USAGE);
	assert_string_equal(
		said, "sightline: try: unknown option '--xyzzy' (see 'sightline try --help')\n");
	assert_int_equal(PARSE("--choice=gren"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "did you mean 'green'?"));
	assert_int_equal(PARSE("--choice=purple"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "it takes red,green,blue"));
	assert_int_equal(PARSE("--choice="), -SL_EXIT_USAGE);
	assert_int_equal(PARSE("--output"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "option '--output' needs a value"));
	assert_int_equal(PARSE("--quiet=true"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "option '--quiet' takes no value"));
}

static void what_comes_later_is_accepted_with_one_line(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--sample=none", "--later-bool=false", "prog"), 3);
	assert_string_equal(said, "");
	assert_int_equal(PARSE("-s", "process-tree", "--later-flag", "--later-bool", "true",
			       "--hidden", "v", "prog"),
			 8);
	assert_string_equal(
		said, "sightline: try: accepted, but not yet in effect: --sample, --later-flag, "
		      "--later-bool, --hidden\n");
	assert_int_equal(PARSE("-s", "process-tree", "prog"), 3);
	assert_string_equal(said, ""); /* once is enough */
}

static void help_lists_what_the_table_holds(void **state)
{
	int rc;

	(void)state;
	capture(1);
	rc = opt_parse(opts, 3, (char **)(const char *[]){"try", "-q", "--help", NULL}, "try");
	captured();
	assert_int_equal(rc, OPT_HELP_SHOWN);
	assert_memory_equal(said, "usage: sightline try [options] WHAT\n\nThings:\n", 45);
	assert_non_null(strstr(said, "      --maybe[=N]             of one, or of all\n"));
	assert_non_null(strstr(said, "  -o, --output=NAME           a name\n"
				     "                              on two lines\n"));
	assert_non_null(strstr(said, "  -b, --bool=true|false       a truth\n"));
	assert_non_null(strstr(said, "  -h, --help                  show this\n"));
	assert_non_null(strstr(said, "--sample, --later-flag, --later-bool\n"));
	assert_null(strstr(said, "--hidden"));
	assert_non_null(strstr(said, "\nExample:\n  try it\n"));
}

static void nearest_is_near_or_nothing(void **state)
{
	(void)state;
	assert_string_equal(sl_nearest("stast", NULL, "stats"), "stats");
	assert_string_equal(sl_nearest("STATS", NULL, "stats"), "stats");
	assert_string_equal(sl_nearest("prof", NULL, "profile"), "profile");
	assert_null(sl_nearest("zebra", NULL, "stats"));
	assert_null(sl_nearest("ab", NULL, "xy"));
	assert_string_equal(sl_nearest("stat", "state", "stats"),
			    "state"); /* the first of equals */
	assert_string_equal(sl_nearest("stats", "status", "stats"), "stats");
	assert_null(sl_nearest(
		"a-word-that-is-far-longer-than-anything-one-could-ever-mean-by-an-option", NULL,
		"a-word"));
}

/* ---- profile ---- */

static struct profile_options po;

static int profile(const char **argv)
{
	int argc = 0, rc;

	while (argv[argc])
		argc++;
	capture(2);
	rc = profile_options_parse(&po, argc, (char **)argv);
	captured();
	return rc;
}
#define PROFILE(...) profile((const char *[]){"profile", __VA_ARGS__, NULL})

static int from_string(const char *text)
{
	int rc;

	capture(2);
	rc = profile_options_from_string(&po, text, "SIGHTLINE_OPTIONS");
	captured();
	return rc;
}

static void profile_has_the_documented_defaults(void **state)
{
	(void)state;
	assert_int_equal(PROFILE("prog"), 1);
	assert_null(po.output);
	assert_false(po.force_overwrite);
	assert_int_equal(po.trace, SL_TRACE_CUDA | SL_TRACE_NVTX | SL_TRACE_OSRT);
	assert_int_equal(po.osrt.threshold_ns, 1000);
	assert_false(po.osrt.file_access);
	assert_int_equal(po.kernel.cpuctxsw, SCHED_MODE_TREE);
	assert_null(po.program.env_vars);
	assert_true(po.program.inherit_environment);
	assert_true(po.program.show_output);
	assert_false(po.stats);
	assert_int_equal(po.program.kill_signal, SIGTERM);
	assert_true(po.program.wait_all);
	assert_true(po.program.stop_on_exit);
	assert_int_equal(po.program.duration_s, 0);
	assert_int_equal(po.rings.on_full, SL_FULL_WAIT);
	assert_int_equal(po.rings.buffer_mib, 64);
}

static void profile_takes_a_command_line_of_nsys(void **state)
{
	(void)state;
	assert_int_equal(PROFILE("-t", "cuda,nvtx,osrt,cudnn,cublas,opengl,vulkan", "-s", "none",
				 "-o", "r", "-f", "true", "--capture-range=cudaProfilerApi",
				 "--cuda-memory-usage=true", "--gpu-metrics-device=all", "-w",
				 "true", "-x", "true", "--kill", "none",
				 "--trace-fork-before-exec=true", "python3", "-c", "pass"),
			 19);
	assert_string_equal(po.output, "r");
	assert_true(po.force_overwrite);
	assert_int_equal(po.trace, SL_TRACE_CUDA | SL_TRACE_NVTX | SL_TRACE_OSRT | SL_TRACE_CUDNN |
					   SL_TRACE_CUBLAS);
	assert_int_equal(po.program.kill_signal, 0);
	assert_string_equal(said, "sightline: profile: accepted, but not yet in effect: "
				  "--trace-fork-before-exec\n"
				  "sightline: profile: not yet traced: opengl, vulkan\n");
}

static void profile_reads_its_words(void **state)
{
	(void)state;
	assert_int_equal(PROFILE("-t", "none", "--cpuctxsw=none", "--wait=primary", "--kill=9",
				 "--on-full=block", "--buffer-size=8", "-d", "3", "-x", "false",
				 "-n", "false", "-w", "false", "--osrt-file-access=true",
				 "--osrt-threshold=0", "--stats", "p"),
			 19);
	assert_int_equal(po.trace, 0);
	assert_int_equal(po.kernel.cpuctxsw, SCHED_MODE_NONE);
	assert_false(po.program.wait_all);
	assert_int_equal(po.program.kill_signal, SIGKILL);
	assert_int_equal(po.rings.on_full, SL_FULL_BLOCK);
	assert_int_equal(po.rings.buffer_mib, 8);
	assert_int_equal(po.program.duration_s, 3);
	assert_false(po.program.stop_on_exit);
	assert_false(po.program.inherit_environment);
	assert_false(po.program.show_output);
	assert_true(po.osrt.file_access);
	assert_int_equal(po.osrt.threshold_ns, 0);
	assert_true(po.stats);
	assert_int_equal(PROFILE("--cpuctxsw=system-wide", "--on-full=drop", "--kill=sigkill", "p"),
			 4);
	assert_int_equal(po.kernel.cpuctxsw, SCHED_MODE_SYSTEM);
	assert_int_equal(po.rings.on_full, SL_FULL_DROP);
	assert_int_equal(po.program.kill_signal, SIGKILL);
}

static void cuda_is_asked_as_nsys_is(void **state)
{
	static const char *const nodes[] = {"node", "node:host-only",
					    "node:host-and-device:nvtx-live"};

	(void)state;
	assert_int_equal(PROFILE("p"), 1);
	assert_int_equal(po.cuda.flags, 0);
	assert_int_equal(po.cuda.flush_ms, 1000);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(PROFILE("--cuda-graph-trace", nodes[i], "p"), 3);
		assert_int_equal(po.cuda.flags, SL_CUDA_GRAPH_NODES);
	}
	assert_int_equal(PROFILE("--cuda-graph-trace=graph:host-and-device",
				 "--cuda-event-trace=true", "--cuda-memory-usage=true",
				 "--cuda-um-gpu-page-faults=true", "--cuda-flush-interval=0", "p"),
			 6);
	assert_int_equal(po.cuda.flags,
			 SL_CUDA_GRAPH_WHOLE | SL_CUDA_EVENTS | SL_CUDA_MEMORY_USAGE | SL_CUDA_UM);
	assert_false(po.cuda.um_cpu_faults);
	assert_true(po.cuda.um_gpu_faults);
	assert_int_equal(po.cuda.flush_ms, 0);
	assert_int_equal(PROFILE("--cuda-cupti=none", "p"), 2);
	assert_int_equal(po.cuda.flags, SL_CUDA_NO_CUPTI);
	assert_int_equal(PROFILE("--cuda-cupti=false", "p"), -SL_EXIT_USAGE);
	assert_int_equal(PROFILE("--cuda-graph-trace=nodes", "p"), -SL_EXIT_USAGE);
	assert_int_equal(PROFILE("--cuda-graph-trace=node:", "p"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "takes graph or node, not 'node:'"));
	assert_int_equal(PROFILE("--cuda-graph-trace=", "p"), -SL_EXIT_USAGE);
}

static void profile_refuses_what_makes_no_sense(void **state)
{
	(void)state;
	po.rings.buffer_mib = 12345;
	assert_int_equal(PROFILE("--kill=sigfoo", "p"), -SL_EXIT_USAGE);
	assert_int_equal(PROFILE("--kill=0", "p"), -SL_EXIT_USAGE);
	assert_int_equal(PROFILE("--env-var=FOO", "p"), -SL_EXIT_USAGE);
	assert_int_equal(PROFILE("-x", "false", "p"), -SL_EXIT_USAGE);
	assert_int_equal(PROFILE("-t", "osrtt", "p"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "did you mean 'osrt'?"));
	assert_int_equal(PROFILE("--osrt-threshold=-1", "p"), -SL_EXIT_USAGE);
	assert_int_equal(PROFILE("--buffer-size=0", "p"), -SL_EXIT_USAGE);
	assert_int_equal(po.rings.buffer_mib, 12345); /* nothing half-parsed comes out */
}

static void variables_are_taken_apart_at_commas(void **state)
{
	const char *cursor;
	char *entry;

	(void)state;
	assert_int_equal(PROFILE("-e", "A=1,B=x\\,y", "--env-var=C=", "p"), 4);
	cursor = po.program.env_vars;
	entry = profile_env_next(&cursor);
	assert_string_equal(entry, "A=1");
	free(entry);
	entry = profile_env_next(&cursor);
	assert_string_equal(entry, "B=x,y");
	free(entry);
	entry = profile_env_next(&cursor);
	assert_string_equal(entry, "C=");
	free(entry);
	assert_null(profile_env_next(&cursor));
	cursor = NULL;
	assert_null(profile_env_next(&cursor));
}

static void a_string_is_split_as_a_shell_does(void **state)
{
	(void)state;
	assert_int_equal(from_string("  -o 'a b'\"c\\\"d\"\\ e --buffer-size=3\t-f\n true "), 0);
	assert_string_equal(po.output, "a bc\"d e");
	assert_int_equal(po.rings.buffer_mib, 3);
	assert_true(po.force_overwrite);
	assert_int_equal(from_string(""), 0);
	assert_null(po.output);
	assert_int_equal(from_string("-o 'a"), -SL_EXIT_USAGE);
	assert_string_equal(said,
			    "sightline: profile: SIGHTLINE_OPTIONS: a quote is never closed\n");
	assert_int_equal(from_string("--outpt x"), -SL_EXIT_USAGE);
	assert_string_equal(
		said,
		"sightline: profile: SIGHTLINE_OPTIONS: unknown option '--outpt'; did you mean "
		"'--output'? (see 'sightline profile --help')\n");
	assert_int_equal(from_string("-o x prog"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "'prog' is no option"));
	assert_int_equal(from_string("--help"), -SL_EXIT_USAGE);
}

static void the_command_line_overrides_a_command_file(void **state)
{
	char path[] = "/tmp/sightline-options.XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	dprintf(fd, "# a comment\n--buffer-size=3 -o from-file # another\n--duration=7\n");
	assert_int_equal(PROFILE("-o", "mine", "--command-file", path, "p"), 5);
	assert_string_equal(po.output, "mine");
	assert_int_equal(po.rings.buffer_mib, 3);
	assert_int_equal(po.program.duration_s, 7);
	dprintf(fd, "--command-file=other\n");
	assert_int_equal(PROFILE("--command-file", path, "p"), -SL_EXIT_USAGE);
	close(fd);
	unlink(path);
	assert_int_equal(PROFILE("--command-file", path, "p"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "No such file"));
}

#define FOR_SIDE(side, ...) for_side(side, (char *[]){(char *)"x", __VA_ARGS__, NULL})

static const char *session;

static int for_side(enum option_side side, char **argv)
{
	int argc = 0, rc;

	while (argv[argc])
		argc++;
	capture(STDERR_FILENO);
	rc = profile_options_parse_for(&po, side, argc, argv, &session);
	captured();
	return rc;
}

static void launch_and_start_have_a_half_each(void **state)
{
	(void)state;
	assert_int_equal(FOR_SIDE(OPTIONS_LAUNCH, (char *)"-t", (char *)"osrt",
				  (char *)"--session-new=a", (char *)"p"),
			 4);
	assert_string_equal(po.session_new, "a");
	assert_int_equal(FOR_SIDE(OPTIONS_LAUNCH, (char *)"-o", (char *)"x", (char *)"p"),
			 -SL_EXIT_USAGE);
	assert_string_equal(said,
			    "sightline: launch: option '--output' belongs to 'sightline start' "
			    "(see 'sightline launch --help')\n");
	assert_int_equal(FOR_SIDE(OPTIONS_START, (char *)"--trace=osrt"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "start: option '--trace' belongs to 'sightline launch'"));
	assert_int_equal(FOR_SIDE(OPTIONS_START, (char *)"--start-later"), -SL_EXIT_USAGE);
	assert_non_null(strstr(said, "belongs to 'sightline profile'"));
	assert_int_equal(
		FOR_SIDE(OPTIONS_START, (char *)"--session=b", (char *)"-c", (char *)"nvtx"), 4);
	assert_string_equal(session, "b");
}

static char *sent[32];
static int sent_cnt;

static void take_word(void *to, const char *word)
{
	assert_null(to);
	sent[sent_cnt++] = strdup(word);
	sent[sent_cnt] = NULL;
}

static void forget_sent(void)
{
	while (sent_cnt)
		free(sent[--sent_cnt]);
	sent[0] = NULL;
}

/* `start` in one process, the collector in another: options arrive as they were sent, over those of launch. */
static void options_travel(void **state)
{
	struct profile_options there;

	(void)state;
	assert_int_equal(FOR_SIDE(OPTIONS_START, (char *)"-o", (char *)"/r/%p", (char *)"-f",
				  (char *)"true", (char *)"-c", (char *)"nvtx", (char *)"-d",
				  (char *)"5", (char *)"--after-report-ready=echo a b"),
			 10);
	assert_int_equal(profile_options_send(take_word, NULL), 0);
	assert_int_equal(for_side(OPTIONS_LAUNCH,
				  (char *[]){(char *)"x", (char *)"-p", (char *)"step@*",
					     (char *)"-t", (char *)"nvtx", (char *)"p", NULL}),
			 5);
	there = po;
	assert_int_equal(profile_options_add(&there, OPTIONS_START, sent), 0);
	assert_string_equal(there.output, "/r/%p");
	assert_true(there.force_overwrite);
	assert_int_equal(there.program.duration_s, 5);
	assert_string_equal(there.after.report, "echo a b");
	assert_int_equal(there.trace, SL_TRACE_NVTX);
	assert_int_equal(there.capture.by, SL_CAPTURE_BY_NVTX);
	assert_string_equal(there.capture.nvtx_range, "step");
	assert_string_equal(there.capture.nvtx_domain, "*");
	forget_sent();
	/* Nothing of what is refused stays, and what was agreed before does. */
	capture(STDERR_FILENO);
	assert_int_equal(profile_options_add(
				 &there, OPTIONS_START,
				 (char *[]){(char *)"--duration=9", (char *)"--trace=osrt", NULL}),
			 -SL_EXIT_USAGE);
	captured();
	assert_int_equal(there.program.duration_s, 5);
	assert_int_equal(profile_options_add(&there, OPTIONS_START,
					     (char *[]){(char *)"--capture-range=none", NULL}),
			 0);
	assert_int_equal(there.capture.by, 0);
	/* Options of one `start` do not hold for the next; those of launch do. */
	assert_int_equal(there.program.duration_s, 0);
	assert_null(there.after.report);
	assert_string_equal(there.capture.hotkey, "F12");
	/* Launch may come after start: its options hold for later starts. */
	assert_int_equal(profile_options_add(&there, OPTIONS_LAUNCH,
					     (char *[]){(char *)"--hotkey-capture=x", NULL}),
			 0);
	assert_int_equal(profile_options_add(&there, OPTIONS_START,
					     (char *[]){(char *)"--hotkey-capture=y",
							(char *)"--cpuctxsw=none", NULL}),
			 0);
	assert_string_equal(there.capture.hotkey, "y");
	assert_int_equal(there.kernel.cpuctxsw, SCHED_MODE_NONE);
	assert_int_equal(profile_options_add(&there, OPTIONS_START, (char *[]){NULL}), 0);
	assert_string_equal(there.capture.hotkey, "x");
	assert_int_equal(there.kernel.cpuctxsw, SCHED_MODE_TREE);
	assert_int_equal(there.trace, SL_TRACE_NVTX);
}

/* The collector is in another folder, with other variables. */
static void output_travels_as_what_it_means_here(void **state)
{
	char folder[] = "/tmp/sl-100%-XXXXXX", want[128], cwd[4096];
	struct profile_options there;

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	setenv("SL_TEST_STEP", "5%0", 1);
	assert_int_equal(FOR_SIDE(OPTIONS_START, (char *)"-o", (char *)"r%q{SL_TEST_STEP}-%n"), 3);
	assert_int_equal(profile_options_send(take_word, NULL), 0);
	assert_int_equal(chdir(cwd), 0);
	unsetenv("SL_TEST_STEP");
	profile_options_init(&there);
	assert_int_equal(profile_options_add(&there, OPTIONS_START, sent), 0);
	snprintf(want, sizeof(want), "/tmp/sl-100%%%s/r5%%%%0-%%n", folder + strlen("/tmp/sl-100"));
	assert_string_equal(there.output, want);
	forget_sent();
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_spelling_of_a_value_is_understood),
		cmocka_unit_test(options_end_at_the_first_operand),
		cmocka_unit_test(a_truth_takes_the_next_word_only_when_it_is_one),
		cmocka_unit_test(an_optional_value_takes_the_next_word_only_when_it_is_a_number),
		cmocka_unit_test(letters_without_value_may_stand_together),
		cmocka_unit_test(numbers_are_checked_whole_and_for_range),
		cmocka_unit_test(repeated_lists_add_up),
		cmocka_unit_test(a_wrong_word_gets_the_nearest_valid_one),
		cmocka_unit_test(what_comes_later_is_accepted_with_one_line),
		cmocka_unit_test(help_lists_what_the_table_holds),
		cmocka_unit_test(nearest_is_near_or_nothing),
		cmocka_unit_test(profile_has_the_documented_defaults),
		cmocka_unit_test(profile_takes_a_command_line_of_nsys),
		cmocka_unit_test(profile_reads_its_words),
		cmocka_unit_test(cuda_is_asked_as_nsys_is),
		cmocka_unit_test(profile_refuses_what_makes_no_sense),
		cmocka_unit_test(variables_are_taken_apart_at_commas),
		cmocka_unit_test(a_string_is_split_as_a_shell_does),
		cmocka_unit_test(the_command_line_overrides_a_command_file),
		cmocka_unit_test(launch_and_start_have_a_half_each),
		cmocka_unit_test(options_travel),
		cmocka_unit_test(output_travels_as_what_it_means_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

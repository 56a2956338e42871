/*
 * cmd_collect.c - the collector of a bare preload: started by the shim, nobody's child, without a
 * terminal. It says one line to whoever started it: the session directory, or "!" and why not.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/cmd.h"
#include "collector/collect.h"
#include "collector/keeper.h"
#include "collector/launch.h"
#include "collector/output_name.h"
#include "collector/pidns.h"
#include "collector/run_command.h"

static void answer(int fd, const char *mark, const char *text)
{
	char line[1024];
	int len = snprintf(line, sizeof(line), "%s%s\n", mark, text);

	if (len > 0 && write(fd, line, (size_t)len) != len)
		errno = EPIPE; /* the program is gone; it will be noticed */
	close(fd);
}

static bool read_arguments(int argc, char **argv, uint32_t *root, int *ready)
{
	*root = 0;
	*ready = -1;
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--root") == 0)
			*root = (uint32_t)strtoul(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--ready-fd") == 0)
			*ready = (int)strtol(argv[i + 1], NULL, 10);
	}
	return *root && *ready >= 0;
}

static void command_of(struct collector *c, uint32_t pid)
{
	char *line = proc_command_line(pid);

	if (line)
		notes_command(c, 1, (char *[]){line, NULL});
	free(line);
}

/* The options and the report's name; false with a sentence in @why. */
static char *prepare(struct profile_options *o, uint32_t root, char *why, size_t why_len)
{
	const char *text = getenv("SIGHTLINE_OPTIONS"), *name = getenv("SIGHTLINE_OUTPUT");
	struct output_ask ask = {.pid = (pid_t)root};
	char *report, *full;

	profile_options_init(o);
	if (text && profile_options_from_string(o, text, "SIGHTLINE_OPTIONS") != 0) {
		snprintf(why, why_len,
			 "SIGHTLINE_OPTIONS is not understood: '%s' (see 'sightline profile "
			 "--help')",
			 text);
		return NULL;
	}
	ask.pattern = name && *name ? name : o->output;
	ask.overwrite = o->force_overwrite;
	report = output_name(&ask, why, why_len);
	if (!report)
		return NULL;
	full = absolute_path(report);
	free(report);
	return full;
}

int cmd_collect(int argc, char **argv)
{
	struct profile_options o;
	struct collector c;
	struct collect_ask ask = {.options = &o, .is_quiet = true};
	char why[1024] = "", *report, *preload;
	uint32_t root;
	int ready, err;

	if (!read_arguments(argc, argv, &root, &ready)) {
		sl_warn("collect is started by libtrace.so; use 'sightline profile'");
		return SL_EXIT_USAGE;
	}
	fcntl(ready, F_SETFD, FD_CLOEXEC);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	ask.keeper = keeper_start();
	report = prepare(&o, root, why, sizeof(why));
	preload = launch_preload();
	if (!report) {
		answer(ready, "!", why);
		return SL_EXIT_FAIL;
	}
	/* The flight recorder's have their names when there is a reason for them. */
	ask.report = o.capture.flight_ns ? NULL : report;
	ask.preload = preload;
	ask.root = root;
	err = collect_open(&c, &ask, why, sizeof(why));
	if (err) {
		answer(ready, "!", why[0] ? why : strerror(-err));
		return SL_EXIT_FAIL;
	}
	raise_descriptor_limit();
	collect_watch(&c, root, false);
	command_of(&c, root);
	answer(ready, "", c.session.dir);
	loop_run(&c);
	err = collect_finish(&c);
	free(report);
	free(preload);
	return err ? SL_EXIT_FAIL : 0;
}

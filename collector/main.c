/*
 * main.c - the sightline command: finds the command in the table and runs it.
 *
 * It knows names only; a command is added by one line in commands.def.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "build_git.h"
#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/report/plain_sqlite.h"
#include "collector/options/output_name.h"
#include "collector/run/own_preload.h"
#include "collector/symbols/symbols.h"

#define CMD(name, function, summary) {#name, function, summary},
static const struct cmd cmds[] = {
#include "collector/commands.def"
	{NULL, NULL, NULL},
};
#undef CMD

static const char help_head[] = "usage: sightline COMMAND [options]\n"
				"\n"
				"Records what a program and everything it starts do - calls into "
				"the C library, waits, files,\n"
				"context switches - into one SQLite file.\n"
				"\n"
				"Commands:\n";
static const char help_tail[] =
	"\n"
	"  sightline COMMAND --help      how a command is used (also: man sightline-COMMAND)\n"
	"  sightline --version           the version, and what was built in\n"
	"\n"
	"First steps:\n"
	"  sightline profile -o run python3 train.py\n"
	"  sightline analyze run.sqlite  what costs time, what could be won, what to do about it\n"
	"  sightline why run.sqlite      where the time went, and what was waited for\n"
	"  sightline view run.sqlite     the timeline in the browser\n"
	"  sightline report run.sqlite   all of it as one page of HTML\n"
	"  sightline status              what works on this machine\n";

/* Commands of nsys that do not exist here yet: named as such, since scripts written for nsys use them. */
static const char *const nsys_cmds[] = {"import",  "recipe",  "finalize", "nvprof",
					"plugins", "service", NULL};

static const struct cmd *find(const char *name)
{
	for (const struct cmd *c = cmds; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static int unknown(const char *name)
{
	const char *near = NULL;

	for (size_t i = 0; nsys_cmds[i]; i++) {
		if (strcmp(nsys_cmds[i], name) == 0) {
			sl_warn("the command '%s' of nsys does not exist here yet (see 'sightline "
				"--help')",
				name);
			return SL_EXIT_USAGE;
		}
	}
	if (*name == '-') {
		near = sl_nearest(name, sl_nearest(name, NULL, "--help"), "--version");
	} else {
		for (const struct cmd *c = cmds; c->name; c++)
			if (c->summary)
				near = sl_nearest(name, near, c->name);
	}
	if (near)
		sl_warn("unknown %s '%s'; did you mean '%s'? (see 'sightline --help')",
			*name == '-' ? "option" : "command", name, near);
	else
		sl_warn("unknown %s '%s' (see 'sightline --help')",
			*name == '-' ? "option" : "command", name);
	return SL_EXIT_USAGE;
}

static void help(void)
{
	fputs(help_head, stdout);
	for (const struct cmd *c = cmds; c->name; c++)
		if (c->summary)
			printf("  %-12s %s\n", c->name, c->summary);
	fputs(help_tail, stdout);
}

int cmd_help(int argc, char **argv)
{
	static char option[] = "--help";
	const struct cmd *c;

	if (argc < 2 || argv[1][0] == '-' || strcmp(argv[1], "help") == 0) {
		help();
		return 0;
	}
	c = find(argv[1]);
	if (!c)
		return unknown(argv[1]);
	return c->run(2, (char *[]){argv[1], option, NULL});
}

/* What was compiled in, for a report of a fault: the first line alone is the version. */
static void print_build(void)
{
	static const char features[] = ""
#ifdef SL_HAVE_BPF
				       " eBPF"
#endif
#ifdef SL_HAVE_LIBDW
				       " libdw"
#endif
#ifdef SL_HAVE_LZMA
				       " lzma"
#endif
#ifdef SL_HAVE_ZLIB
				       " zlib"
#endif
#ifdef SL_HAVE_ZSTD
				       " zstd"
#endif
#ifdef SL_HAVE_LZ4
				       " lz4"
#endif
#ifdef SL_HAVE_NCURSES
				       " ncurses"
#endif
#ifdef SL_HAVE_LIBEVENT
				       " libevent"
#endif
		;

	/* A static program has no loader. */
	printf("build: %s, git %s, compiler %s\n", getauxval(AT_BASE) ? "dynamic" : "static",
	       *SL_GIT ? SL_GIT : "not known", __VERSION__);
	printf("features:%s\n", *features ? features : " none");
}

int cmd_version(int argc, char **argv)
{
	static const struct opt opts[] = {{.kind = OPT_ABOUT, .values = "sightline version"}, {0}};
	int first = opt_parse(opts, argc, argv, "version");

	if (first < 0)
		return first == OPT_HELP_SHOWN ? 0 : -first;
	printf("sightline %s\n", SL_VERSION);
	print_build();
	return 0;
}

/* A failed write to stdout leaves half an answer, which must not look like success. */
static int finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	sl_warn("cannot write the output: %s", strerror(errno));
	return status ? status : SL_EXIT_FAIL;
}

static bool is_called(const char *program, const char *name)
{
	const char *slash = strrchr(program, '/');

	return strcmp(slash ? slash + 1 : program, name) == 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct cmd *c;

	own_preload_leave(argv);
	commands_register(cmds);
	symbols_apart_by("/proc/self/exe");
	plain_files_for_sqlite();
	if (argc > 0 && is_called(argv[0], "nsys"))
		output_name_as_nsys();
	if (argc < 2) {
		help();
		return SL_EXIT_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	else if (strcmp(name, "--version") == 0 || strcmp(name, "-v") == 0)
		name = "version";
	else if (strcmp(name, "--completion-data") == 0) {
		for (c = cmds; c->name; c++)
			if (c->summary)
				puts(c->name);
		return finish(0);
	}
	c = find(name);
	if (!c)
		return unknown(name);
	/* "--version" stands for a command: it must not reach that command's own options. */
	argv[1] = (char *)c->name;
	return finish(c->run(argc - 1, argv + 1));
}

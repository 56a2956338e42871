/* cmd_mcp.c - sightline mcp: reports as tools for coding agents. */
#include <string.h>
#include <signal.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/embed.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/mcp/mcp.h"

#define FOLDERS_MAX 32

static const char usage[] = "sightline mcp [options] [FOLDER...]";
static const char examples[] =
	"A server of the Model Context Protocol on stdin and stdout, of revisions 2024-11-05 to "
	"2026-07-28. Its tools "
	"read\n"
	"reports below the folders that are named (default: the current one), and nothing else; "
	"links are not followed.\n"
	"\n"
	"Examples:\n"
	"  sightline mcp runs                         # for an agent's configuration: command and "
	"arguments\n"
	"  sightline mcp runs src                     # reports, and the source that 'source' "
	"shows\n"
	"  sightline mcp --allow-run .                # may also run commands here, and record "
	"them\n"
	"  sightline mcp --skill >SKILL.md            # the guide for an agent\n";

static int put_skill(void)
{
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, "skill/SKILL.md") == 0)
			return fputs(e->text, stdout) < 0 ? SL_EXIT_FAIL : 0;
	return SL_EXIT_FAIL;
}

static int serve(struct mcp *m, char *const *folders, size_t cnt)
{
	static char here[] = ".";
	char *const current[] = {here};
	char why[MCP_WHY];
	int rc = 0;

	if (mcp_open(m, cnt ? folders : current, cnt ? cnt : 1, why, sizeof(why)) < 0) {
		sl_warn("mcp: %s", why);
		rc = SL_EXIT_FAIL;
	} else {
		signal(SIGPIPE, SIG_IGN); /* a client that goes away is an error of a write */
		if (mcp_serve(m, STDIN_FILENO, stdout) < 0) {
			sl_warn("mcp: the client is gone");
			rc = SL_EXIT_FAIL;
		}
	}
	mcp_close(m);
	return rc;
}

int cmd_mcp(int argc, char **argv)
{
	int64_t timeout = 60;
	bool skill = false;
	struct mcp m = {.out = STDOUT_FILENO};
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0, "allow-run", OPT_FLAG, NULL, NULL,
		 "adds the tool 'record': it runs commands in the first folder", &m.may_run, NULL},
		{0, "timeout", OPT_INT, "1:3600", "SECONDS", "of a tool (default: 60)", &timeout,
		 NULL},
		{0, "skill", OPT_FLAG, NULL, NULL, "print the guide for coding agents", &skill,
		 NULL},
		{0},
	};
	char *folders[FOLDERS_MAX];
	size_t cnt = 0;

	/* Options may also stand after folders. */
	for (int at = 0; at < argc;) {
		int n = opt_parse(opts, argc - at, argv + at, "mcp");

		if (n < 0)
			return n == OPT_HELP_SHOWN ? 0 : -n;
		at += n;
		if (at < argc && cnt == FOLDERS_MAX) {
			sl_warn("mcp: more than %d folders", FOLDERS_MAX);
			return SL_EXIT_USAGE;
		}
		if (at < argc)
			folders[cnt++] = argv[at];
	}
	if (skill)
		return put_skill();
	m.timeout_s = (int)timeout;
	return serve(&m, folders, cnt);
}

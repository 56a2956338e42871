/*
 * cmd_dump.c - sightline dump: what threads of running processes wait for; and reports of flight recorders.
 *
 * Of processes, the collector writes a report of one look (run/look.h), in a folder of its own unless --output names one, and the command
 * `threads` prints it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/base/privilege.h"
#include "collector/base/proc.h"
#include "collector/commands/session_dump.h"
#include "collector/options/output_name.h"
#include "collector/options/profile_options.h"
#include "collector/options/trigger.h"
#include "collector/run/look.h"
#include "collector/session/proc_select.h"

#define ELF_CLASS     4 /* where a file's head has its class */
#define ELF_CLASS_32  1
#define YAMA          "/proc/sys/kernel/yama/ptrace_scope"
#define COMMAND_MAX   512
#define EVERY_LEAST   1000000 /* ns */
#define PIDS_TEXT_MAX (LOOK_PIDS_MAX * 12)

static struct {
	const char *session, *dataset, *run, *pids, *output, *format, *every, *duration;
	bool children, overwrite;
	int64_t limit, max_bytes;
	struct {
		bool format, limit, max_bytes;
	} has;
} o;

static const struct opt opts[] = {
	{.kind = OPT_ABOUT,
	 .values = "sightline dump -p PID[,PID...] [options] | REPORT.sqlite | [--session=NAME]",
	 .help = "Of running processes: what each thread waits for, with its stack, native and "
		 "Python; threads that wait\nfor each other first. Nothing is done to the "
		 "processes, and no privilege is needed for one's own.\n"
		 "Of a report: the same at its end. Without either: writes a report of what a "
		 "flight "
		 "recorder holds\n('sightline profile --flight=30s'); the recorder goes on.\n"
		 "Examples:\n"
		 "  sightline dump -p $(pgrep -d, train.py)\n"
		 "  sightline dump -p 4711 --children -f json | jq '.threads[0]'\n"
		 "  sightline dump -p 4711 --every=10ms --for=10s -o samples\n"
		 "  sightline dump report1.sqlite              # of a recording that hung\n"
		 "  sightline dump --session=train             # of a flight recorder"},
	{.kind = OPT_GROUP, .help = "Options for processes:"},
	{'p', "pid", OPT_LIST, NULL, "PID,...", "of these processes", &o.pids, NULL},
	{0, "children", OPT_BOOL, NULL, NULL,
	 "and of those that they have started (default: false)", &o.children, NULL},
	{'o', "output", OPT_STRING, NULL, "NAME",
	 "keep the report of the look, for 'sightline why' and others", &o.output, NULL},
	{0, "every", OPT_STRING, NULL, "TIME",
	 "take samples in place of one look, so often, as 10ms: a report for 'sightline stats', "
	 "'export' and 'view'",
	 &o.every, NULL},
	{0, "for", OPT_STRING, NULL, "TIME",
	 "so long, as 10s (default: until Ctrl-C, or the processes have ended)", &o.duration, NULL},
	{0, "force-overwrite", OPT_BOOL, NULL, NULL, "replace an existing report (default: false)",
	 &o.overwrite, NULL},
	{'f', "format", OPT_ENUM, "text,json", "FORMAT", "text or json (default: text)", &o.format,
	 &o.has.format},
	{0, "limit", OPT_INT, "0:1000000000", "N", "elements of a list in JSON (0: all)", &o.limit,
	 &o.has.limit},
	{0, "max-bytes", OPT_INT, "0:1000000000", "B",
	 "bytes of the answer in JSON (0: any number)", &o.max_bytes, &o.has.max_bytes},
	{.kind = OPT_GROUP, .help = "Options for flight recorders:"},
	{0, "session", OPT_STRING, NULL, "NAME",
	 "the session, by name or folder (default: the only one there is)", &o.session, NULL},
	{0, "job", OPT_STRING, NULL, "FOLDER",
	 "all sessions of a job, on all nodes: those with --ranks=FOLDER", &o.dataset, NULL},
	{0, "run", OPT_STRING, NULL, "NAME",
	 "of this run of the job (default: the only one there is)", &o.run, NULL},
	{0},
};

/* ---- may it be looked at? ---- */

static bool is_32_bit(uint32_t pid)
{
	unsigned char head[ELF_CLASS + 1] = "";
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%u/exe", proc_root(), pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, head, sizeof(head)) != (ssize_t)sizeof(head))
			head[ELF_CLASS] = 0;
		close(fd);
	}
	return memcmp(head, "\177ELF", 4) == 0 && head[ELF_CLASS] == ELF_CLASS_32;
}

static int yama_scope(void)
{
	FILE *f = fopen(YAMA, "re");
	int scope = 0;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	return scope;
}

static bool is_own(uint32_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%u", proc_root(), pid);
	return stat(path, &st) == 0 && st.st_uid == geteuid();
}

/* The kernel shows the call of a thread to those alone that could trace it. */
static bool is_shown(uint32_t pid)
{
	char path[64], line[8];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%u/syscall", proc_root(), pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, line, sizeof(line));
		close(fd);
	}
	return got > 0;
}

static int not_permitted(uint32_t pid)
{
	if (!is_own(pid))
		sl_warn("dump: not permitted: process %u is another user's, or has changed its "
			"user: run the command as root",
			pid);
	else if (yama_scope() > 0)
		sl_warn("dump: not permitted: the kernel shows processes to their parents only: "
			"sudo sysctl kernel.yama.ptrace_scope=0, or run the command as root");
	else
		sl_warn("dump: not permitted: the kernel does not show process %u to this user "
			"(see ptrace(2)): run the command as root",
			pid);
	return SL_EXIT_FAIL;
}

/* 0, or an exit status after one line. */
static int check(uint32_t pid)
{
	char why[256];

	if (running_check(pid, why, sizeof(why))) {
		sl_warn("dump: %s", why);
		return SL_EXIT_FAIL;
	}
	if (!privilege_may_trace(pid) || !is_shown(pid))
		return not_permitted(pid);
	if (!is_32_bit(pid))
		return 0;
	sl_warn("dump: process %u runs a 32-bit program, whose stacks this 64-bit program cannot "
		"read",
		pid);
	return SL_EXIT_FAIL;
}

static int read_pids(struct look_ask *ask)
{
	for (const char *p = o.pids; *p;) {
		size_t len = strcspn(p, ",");
		char *end;
		unsigned long pid = strtoul(p, &end, 10);
		int rc;

		if (*p < '0' || *p > '9' || end != p + len || !pid || pid > INT32_MAX) {
			sl_warn("dump: option '--pid' takes numbers of processes, not '%.*s' (see "
				"'sightline dump --help')",
				(int)len, p);
			return SL_EXIT_USAGE;
		}
		if (ask->cnt == LOOK_PIDS_MAX) {
			sl_warn("dump: at most %d processes", LOOK_PIDS_MAX);
			return SL_EXIT_USAGE;
		}
		rc = check((uint32_t)pid);
		if (rc)
			return rc;
		ask->pid[ask->cnt++] = (uint32_t)pid;
		p += len + (p[len] == ',');
	}
	return 0;
}

/* ---- the report, which goes again unless --output names it ---- */

static struct {
	char folder[64], report[96];
} aside;

static void remove_aside(void)
{
	if (aside.report[0])
		unlink(aside.report);
	if (aside.folder[0])
		rmdir(aside.folder);
	aside.report[0] = aside.folder[0] = '\0';
}

static void on_end(int sig)
{
	remove_aside();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* False: no folder can be made. */
static bool make_aside(void)
{
	static const char *const places[] = {"/dev/shm", "/tmp"};
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		signal(ends[i], on_end);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(aside.folder, sizeof(aside.folder), "%s/sightline-dump.XXXXXX", places[i]);
		if (mkdtemp(aside.folder)) {
			snprintf(aside.report, sizeof(aside.report), "%s/dump.sqlite",
				 aside.folder);
			return true;
		}
	}
	sl_warn("dump: no folder for the report can be made: %s; --output names a place",
		strerror(errno));
	aside.folder[0] = '\0';
	return false;
}

/* The command that was given, without the limits: the answer names it where it is cut. */
static void put_command(char text[COMMAND_MAX + PIDS_TEXT_MAX])
{
	snprintf(text, COMMAND_MAX + PIDS_TEXT_MAX, "--as=sightline dump -p %.*s%s -f json",
		 PIDS_TEXT_MAX, o.pids, o.children ? " --children" : "");
}

static int show(const char *report)
{
	static char threads[] = "threads", json[] = "-f=json";
	static char as[COMMAND_MAX + PIDS_TEXT_MAX];
	char limit[48], max_bytes[48], *argv[8] = {threads};
	int argc = 1;

	if (o.format && strcmp(o.format, "json") == 0)
		argv[argc++] = json;
	snprintf(limit, sizeof(limit), "--limit=%lld", (long long)o.limit);
	snprintf(max_bytes, sizeof(max_bytes), "--max-bytes=%lld", (long long)o.max_bytes);
	if (o.has.limit)
		argv[argc++] = limit;
	if (o.has.max_bytes)
		argv[argc++] = max_bytes;
	if (o.pids) {
		put_command(as);
		argv[argc++] = as;
	}
	argv[argc++] = (char *)(uintptr_t)report;
	return commands_run(threads, argv);
}

/* ns; -1 after one line: it is none, or less than @least. 0: not given. */
static int64_t read_time(const char *option, const char *text, int64_t least)
{
	const char *end;
	int64_t ns = text ? time_read(text, &end) : 0;

	if (!text || (ns >= least && !*end))
		return ns;
	sl_warn("dump: option '--%s' takes a time of at least %s, as %s, not '%s' (see 'sightline "
		"dump --help')",
		option, least == EVERY_LEAST ? "1ms" : "1us", least == EVERY_LEAST ? "10ms" : "10s",
		text);
	return -1;
}

/* Signals end samples, but not the report of them. */
static void block_ends(bool block)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGQUIT);
	sigprocmask(block ? SIG_BLOCK : SIG_UNBLOCK, &ends, NULL);
}

static int read_samples(struct look_ask *ask)
{
	ask->samples.every_ns = read_time("every", o.every, EVERY_LEAST);
	ask->samples.for_ns = read_time("for", o.duration, 1000);
	if (ask->samples.every_ns < 0 || ask->samples.for_ns < 0)
		return SL_EXIT_USAGE;
	if (o.every && o.output)
		return 0;
	if (o.every || o.duration) {
		sl_warn("dump: --every=TIME writes a report, which --output=NAME names; --for=TIME "
			"goes with --every");
		return SL_EXIT_USAGE;
	}
	return 0;
}

static int dump_processes(void)
{
	static struct look_ask ask;
	char why[1024], *kept = NULL;
	int rc = read_samples(&ask);

	if (!rc)
		rc = read_pids(&ask);
	if (rc)
		return rc;
	if (!ask.cnt) {
		sl_warn("dump: no process given: -p PID (see 'sightline dump --help')");
		return SL_EXIT_USAGE;
	}
	ask.children = o.children;
	ask.overwrite = o.overwrite;
	if (o.output) {
		struct profile_options named;

		profile_options_init(&named);
		named.output = o.output;
		named.force_overwrite = o.overwrite;
		ask.report = kept = output_report(&named, (pid_t)ask.pid[0], why, sizeof(why));
	} else {
		ask.report = make_aside() ? aside.report : NULL;
	}
	if (!ask.report) {
		if (o.output)
			sl_warn("dump: %s", why);
		return SL_EXIT_FAIL;
	}
	block_ends(ask.samples.every_ns);
	rc = look_write(&ask, why, sizeof(why)) ? SL_EXIT_FAIL : 0;
	if (rc)
		sl_warn("dump: %s", why);
	else if (!ask.samples.every_ns)
		rc = show(ask.report);
	if (kept && !rc)
		sl_warn("report: %s", kept);
	free(kept);
	remove_aside();
	return rc;
}

static int wrong(const char *text)
{
	sl_warn("dump: %s (see 'sightline dump --help')", text);
	return SL_EXIT_USAGE;
}

int cmd_dump(int argc, char **argv)
{
	int first = opt_parse(opts, argc, argv, "dump");
	bool of_session = o.session || o.dataset || o.run;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (argc - first > 1 || (first < argc && (o.pids || of_session)) || (o.pids && of_session))
		return wrong("takes one of processes (-p PID), a report, and a session");
	if (o.pids)
		return dump_processes();
	if (o.output || o.children || o.overwrite || o.every || o.duration)
		return wrong("--output, --children, --every, --for and --force-overwrite are for "
			     "processes: -p PID");
	if (first < argc)
		return show(argv[first]);
	if (o.has.format || o.has.limit || o.has.max_bytes)
		return wrong("--format is for processes (-p PID) and reports");
	return session_dump(o.session, o.dataset, o.run);
}

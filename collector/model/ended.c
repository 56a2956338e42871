/* ended.c - reads the kernel's count of the processes that it ended for want of memory, and writes the diagnostics. */
#include "collector/model/ended.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/wait.h>

#include "collector/base/now.h"
#include "collector/base/proc.h"
#include "collector/model/kernel_log.h"
#include "collector/model/model.h"
#include "collector/report/db.h"
#include "collector/report/db_ids.h"

#define LOG_OFF INT64_C(2000000000) /* ns */

enum {
	SOURCE_DAEMON = 2,
	INFO = 1,
	WARNING = 2
};

int64_t ended_oom_kills(void)
{
	int64_t count = -1;
	char line[128], path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/vmstat", proc_root());
	f = fopen(path, "re");
	while (f && count < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "oom_kill %" SCNd64, &count) != 1)
			count = -1;
	if (f)
		fclose(f);
	return count;
}

/* Not of sigabbrev_np(), which glibc has from 2.32 on. */
static const char *name_of(int sig)
{
	static const struct {
		int sig;
		const char *name;
	} names[] = {{SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},
		     {SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"}, {SIGBUS, "BUS"},   {SIGFPE, "FPE"},
		     {SIGKILL, "KILL"}, {SIGUSR1, "USR1"}, {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
		     {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"}, {SIGXCPU, "XCPU"},
		     {SIGXFSZ, "XFSZ"}, {SIGSYS, "SYS"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].sig == sig)
			return names[i].name;
	return "?";
}

static const char *base_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

struct log_of {
	struct db *db;
	const struct proc *p;
	int64_t ns;
};

static void put_line(void *ctx, const char *line)
{
	const struct log_of *l = ctx;
	char text[1024];

	snprintf(text, sizeof(text), "kernel: %s", line);
	db_diagnostic(l->db, l->ns, SOURCE_DAEMON, INFO, text, GLOBAL_PID(l->p->pid));
}

/* Of a fault, or of the OOM killer, the kernel writes why. */
static void note_log(struct db *db, const struct proc *p, int64_t ns, int sig)
{
	static const int with_lines[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGKILL};
	/* Session times and the clock of the log differ by a constant; the log's may be some milliseconds off. */
	int64_t begin = mono_ns() - (ns - p->life.start_ns) - LOG_OFF;

	for (size_t i = 0; i < sizeof(with_lines) / sizeof(with_lines[0]); i++)
		if (sig == with_lines[i])
			kernel_log_lines(p->pid, begin, put_line, &(struct log_of){db, p, ns});
}

void ended_note(struct db *db, const struct proc *p, int64_t ns, int status, int64_t *oom_kills)
{
	const char *name = base_of(p->exe);
	int64_t before = *oom_kills;
	char text[512], cause[160] = "";
	int sig;

	if (status < 0 || !WIFSIGNALED(status))
		return;
	sig = WTERMSIG(status);
	if (sig == SIGKILL && before >= 0)
		*oom_kills = ended_oom_kills();
	if (sig == SIGKILL && before >= 0 && *oom_kills > before)
		snprintf(cause, sizeof(cause),
			 ": the kernel has ended %" PRId64
			 " process%s for want of memory meanwhile "
			 "(OOM killer)",
			 *oom_kills - before, *oom_kills - before == 1 ? "" : "es");
	snprintf(text, sizeof(text), "process %u%s%s%s was ended by signal %d (SIG%s)%s%s", p->pid,
		 *name ? " (" : "", name, *name ? ")" : "", sig, name_of(sig),
		 WCOREDUMP(status) ? ", core dumped" : "", cause);
	db_diagnostic(db, ns, SOURCE_DAEMON, *cause ? WARNING : INFO, text, GLOBAL_PID(p->pid));
	note_log(db, p, ns, sig);
}

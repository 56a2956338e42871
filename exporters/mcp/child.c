/* child.c - runs a command of this program for a tool: in time, with so many bytes, and nothing on the server's stdout. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/now.h"
#include "exporters/mcp/mcp.h"

#define GRACE_MS 10000 /* for a recording to end by itself */
#define PIECE    65536

void mcp_run_add(struct mcp_run *run, const char *word)
{
	if (run->argc + 1 < (int)(sizeof(run->argv) / sizeof(*run->argv)))
		run->argv[run->argc++] = word;
}

void mcp_run_free(struct mcp_run *run)
{
	free(run->text);
	run->text = NULL;
}

static void limit(int what, rlim_t value)
{
	struct rlimit l;

	if (getrlimit(what, &l) == 0 && (l.rlim_cur == RLIM_INFINITY || l.rlim_cur > value)) {
		l.rlim_cur = value;
		setrlimit(what, &l);
	}
}

static void run_command(const struct mcp_run *run, int out, int err)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, run->folder >= 0 ? SIGINT : SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	limit(RLIMIT_CORE, 0);
	if (run->folder < 0)
		limit(RLIMIT_CPU, (rlim_t)run->timeout_s * 4 + 1); /* of several threads */
	if (run->folder >= 0 && fchdir(run->folder) < 0)
		_exit(SL_EXIT_NOEXEC);
	for (int i = 0; i < 2; i++)
		if (run->fds[i] >= 0)
			fcntl(run->fds[i], F_SETFD, 0);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execv("/proc/self/exe", (char *const *)(uintptr_t)run->argv);
	_exit(SL_EXIT_NOEXEC);
}

/* Keeps what there is room for: the first bytes, or the last ones. */
static int keep(struct mcp_run *run, const char *from, size_t len)
{
	char *more;

	if (!run->is_tail && run->len + len > run->max) {
		run->is_long = true;
		return -1;
	}
	more = realloc(run->text, run->len + len + 1);
	if (!more)
		return -1;
	run->text = more;
	memcpy(more + run->len, from, len);
	run->len += len;
	if (run->len > run->max) {
		memmove(more, more + run->len - run->max, run->max);
		run->len = run->max;
		run->is_long = true;
	}
	more[run->len] = 0;
	return 0;
}

static void keep_error(struct mcp_run *run, const char *from, size_t len)
{
	size_t have = strlen(run->error), room = sizeof(run->error) - 1;

	if (len > room) {
		from += len - room;
		len = room;
	}
	if (have + len > room) {
		memmove(run->error, run->error + have + len - room, room - len);
		have = room - len;
	}
	memcpy(run->error + have, from, len);
	run->error[have + len] = 0;
	sl_clean(run->error, have + len);
}

/* Reads a pipe that has something. False: at its end, or there is no more room. */
static bool drain(struct mcp_run *run, int fd, bool is_error)
{
	static char piece[PIECE];
	ssize_t got = read(fd, piece, sizeof(piece));

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	if (got > 0 && is_error)
		keep_error(run, piece, (size_t)got);
	return got > 0 && (is_error || keep(run, piece, (size_t)got) == 0);
}

/* Reads what the client sends meanwhile: it may cancel this. */
static void listen_to(const struct mcp *m, struct mcp_run *run, const struct pollfd *p)
{
	if (p->fd < 0 || !p->revents)
		return;
	mcp_input_fill(m->input);
	run->is_cancelled |= m->call_id && mcp_input_cancels(m, m->call_id);
}

/* Until both pipes are at their end (true), the time is over, the call is cancelled, or the reader of its answer is gone. */
static bool attend(const struct mcp *m, struct mcp_run *run, int out, int err, pid_t pid)
{
	int64_t end = mono_ms() + (int64_t)run->timeout_s * 1000;
	bool is_ending = false;
	struct pollfd p[4] = {{.fd = out, .events = POLLIN},
			      {.fd = err, .events = POLLIN},
			      {.fd = m->out},
			      {.events = POLLIN}};

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		int64_t left = end - mono_ms();

		if (left <= 0 || (p[2].revents & POLLERR) || (run->is_cancelled && !is_ending)) {
			run->is_late |= left <= 0;
			if (run->folder < 0 || is_ending)
				return false;
			kill(-pid, SIGINT); /* a recording writes its report */
			is_ending = true;
			end = mono_ms() + GRACE_MS;
			p[2].fd = -1;
			p[2].revents = 0;
			continue;
		}
		p[3].fd = m->input ? mcp_input_fd(m->input) : -1;
		if (poll(p, 4, (int)(left < 60000 ? left : 60000)) < 0)
			continue;
		listen_to(m, run, &p[3]);
		for (int i = 0; i < 2; i++)
			if (p[i].fd >= 0 && p[i].revents && !drain(run, p[i].fd, i == 1)) {
				if (i == 0 && run->is_long && !run->is_tail)
					return false;
				p[i].fd = -1;
			}
	}
	return true;
}

/* A command that has closed its output ends by itself, or is ended. */
static int end(pid_t pid, bool is_done)
{
	int status = 0;

	for (int i = 0; is_done && i < 500; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			kill(-pid, SIGKILL); /* what it left behind */
			return status;
		}
		usleep(i < 50 ? 200 : 10000);
	}
	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int mcp_run_child(const struct mcp *m, struct mcp_run *run)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1}, status = 0;
	pid_t pid = -1;

	if (pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0)
		run_command(run, out[1], err[1]);
	if (pid < 0)
		snprintf(run->error, sizeof(run->error), "%s", strerror(errno));
	if (out[1] >= 0)
		close(out[1]);
	if (err[1] >= 0)
		close(err[1]);
	if (pid > 0) {
		setpgid(pid, pid);
		status = end(pid, attend(m, run, out[0], err[0], pid));
		run->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	if (out[0] >= 0)
		close(out[0]);
	if (err[0] >= 0)
		close(err[0]);
	if (pid > 0 && !run->text)
		run->text = strdup("");
	return pid > 0 && run->text ? 0 : -1;
}

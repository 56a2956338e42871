/* output.c - files written under a temporary name, pipes into commands, the console. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/new_file.h"
#include "exporters/text/output.h"

/* The file being written, for the signal handler; only one is open at a time. */
static char *volatile unfinished;

static void on_signal(int sig)
{
	char *path = unfinished;

	if (path)
		unlink(path);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch_signals(void)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = on_signal}, old;
	static bool done;

	for (size_t i = 0; !done && i < sizeof(sigs) / sizeof(sigs[0]); i++)
		if (sigaction(sigs[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(sigs[i], &sa, NULL);
	done = true;
}

static int open_aside(struct output *o, char *why, size_t why_len)
{
	mode_t mask;
	int fd;

	catch_signals();
	signal(SIGXFSZ, SIG_IGN); /* beyond RLIMIT_FSIZE a write shall fail, so that we tidy up */
	/* From its first moment on: another user with the file open could read bytes that are written later. */
	mask = umask(0);
	umask(o->is_private ? 077 : mask);
	fd = new_file_open(o->target, &o->temp);
	umask(mask);
	if (fd < 0) {
		snprintf(why, why_len, "cannot write %s: %s", o->target, new_file_error(fd));
		return -1;
	}
	unfinished = o->temp;
	o->f = fdopen(fd, "w");
	if (o->f)
		return 0;
	snprintf(why, why_len, "cannot write %s: %s", o->target, strerror(errno));
	unlink(o->temp);
	close(fd);
	unfinished = NULL;
	free(o->temp);
	o->temp = NULL;
	return -1;
}

int output_open(struct output *o, char *why, size_t why_len)
{
	o->f = NULL;
	o->temp = NULL;
	switch (o->kind) {
	case OUTPUT_CONSOLE:
		o->f = stdout;
		return 0;
	case OUTPUT_COMMAND:
		/* A command may read only a part; that is no failure. */
		signal(SIGPIPE, SIG_IGN);
		fflush(NULL);
		o->f = popen(o->target, "we");
		if (o->f)
			return 0;
		snprintf(why, why_len, "cannot run '%s': %s", o->target, strerror(errno));
		return -1;
	case OUTPUT_FILE:
		return open_aside(o, why, why_len);
	}
	return -1;
}

static int close_file(struct output *o, bool keep, char *why, size_t why_len)
{
	int rc = 0;

	errno = 0;
	if (fflush(o->f) != 0 || ferror(o->f))
		rc = -1;
	/* A further write gives the errno of an earlier one that failed; the file is removed. */
	if (rc < 0 && errno == 0 && write(fileno(o->f), "", 1) >= 0)
		errno = EIO;
	int saved = errno;

	if (fclose(o->f) != 0 && rc == 0) {
		saved = errno;
		rc = -1;
	}
	if (rc == 0 && keep) {
		rc = new_file_place(o->temp, o->target, o->overwrite);
		saved = -rc;
	}
	if (rc < 0)
		snprintf(why, why_len, "cannot write %s: %s", o->target, new_file_error(-saved));
	if (rc < 0 || !keep)
		unlink(o->temp);
	unfinished = NULL;
	free(o->temp);
	o->temp = NULL;
	return rc < 0 ? -1 : 0;
}

static int close_command(struct output *o, char *why, size_t why_len)
{
	bool unread;
	int status;

	errno = 0;
	unread = fflush(o->f) != 0 && errno == EPIPE;
	status = pclose(o->f);
	if (status == 0 ||
	    (status < 0 && unread)) /* pclose: output that was not read could not be written */
		return 0;
	if (status > 0)
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	snprintf(why, why_len, "'%s' ended with status %d", o->target, status);
	return -1;
}

int output_close(struct output *o, bool keep, char *why, size_t why_len)
{
	int rc = 0;

	if (!o->f)
		return 0;
	if (o->kind == OUTPUT_FILE) {
		rc = close_file(o, keep, why, why_len);
	} else if (o->kind == OUTPUT_COMMAND) {
		rc = close_command(o, why, why_len);
	} else if (fflush(o->f) != 0 || ferror(o->f)) {
		snprintf(why, why_len, "cannot write to stdout: %s", strerror(errno));
		rc = -1;
	}
	o->f = NULL;
	return rc;
}

bool output_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

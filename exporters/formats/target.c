/*
 * target.c - files, folders and stdout as targets of an export.
 *
 * A signal does not end the process: it stops the exporter at its next step, so that every kind of result is
 * tidied up in one place.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/new_file.h"
#include "exporters/formats/target.h"
#include "exporters/text/output.h"

/* ---- signals ---- */

static volatile sig_atomic_t signalled;

static void on_signal(int sig)
{
	signalled = sig;
}

void target_catch_signals(void)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = on_signal}, old;

	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		if (sigaction(sigs[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(sigs[i], &sa, NULL);
	signal(SIGXFSZ, SIG_IGN); /* a write shall fail, so that we tidy up */
}

int target_signal(void)
{
	return signalled;
}

void target_end_by_signal(void)
{
	if (!signalled)
		return;
	signal(signalled, SIG_DFL);
	raise(signalled);
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

/* ---- kinds of targets ---- */

struct task {
	const struct target *target;
	const struct exporter *exporter;
	struct export_job *job;
	char *why;
	size_t why_len;
};

static int run_exporter(struct task *x)
{
	int rc = x->exporter->run(x->job, x->why, x->why_len);

	if (signalled)
		snprintf(x->why, x->why_len, "interrupted");
	return signalled ? -1 : rc;
}

static int to_stream(struct task *x)
{
	struct output output = {
		.kind = strcmp(x->target->name, "-") == 0 ? OUTPUT_CONSOLE : OUTPUT_FILE,
		.target = x->target->name,
		.overwrite = x->target->overwrite,
	};
	char ignored[2048];
	struct out out;
	int rc, err, fd;

	if (output_open(&output, x->why, x->why_len) < 0)
		return -1;
	fd = output.kind == OUTPUT_CONSOLE ? STDOUT_FILENO : dup(fileno(output.f));
	err = fd < 0 ? -errno : out_open(&out, fd, x->target->packing);
	if (err < 0) {
		snprintf(x->why, x->why_len, "cannot write %s: %s", x->target->name,
			 strerror(-err));
		output_close(&output, false, ignored, sizeof(ignored));
		return -1;
	}
	x->job->out = &out;
	rc = run_exporter(x);
	err = out_close(&out);
	if (err < 0 && !signalled) {
		snprintf(x->why, x->why_len, "cannot write %s: %s",
			 output.kind == OUTPUT_FILE ? x->target->name : "to stdout",
			 strerror(-err));
		rc = -1;
	}
	if (rc < 0)
		output_close(&output, false, ignored, sizeof(ignored));
	else if (output_close(&output, true, x->why, x->why_len) < 0)
		rc = -1;
	return rc;
}

/* Removes the folder's files, if @extension only those with it; then the folder, if it is empty. */
static void remove_folder(const char *path, const char *extension)
{
	DIR *d = opendir(path);
	char file[4096 + 256];

	for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
		if (e->d_name[0] == '.' || (extension && !ends_with(e->d_name, extension)))
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		unlink(file);
	}
	if (d)
		closedir(d);
	rmdir(path);
}

/* True for a folder that does not exist, or has nothing but files of an export; else @why names another file in it. */
static bool is_replaceable(struct task *x, const char *path)
{
	DIR *d = opendir(path);
	bool good = d || errno == ENOENT;
	struct stat st;

	if (!good)
		snprintf(x->why, x->why_len, "cannot replace %s: %s", x->target->name,
			 strerror(errno));
	for (struct dirent *e; good && d && (e = readdir(d)) != NULL;) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		good = e->d_name[0] != '.' && ends_with(e->d_name, x->exporter->part) &&
		       (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISDIR(st.st_mode));
		if (!good)
			snprintf(x->why, x->why_len,
				 "cannot replace %s: it has %s in it, which is of no export",
				 x->target->name, e->d_name);
	}
	if (d)
		closedir(d);
	return good;
}

/* The old one stays until the new one is in its place: no files get lost. */
static int replace_folder(struct task *x, const char *temp, const char *path)
{
	if (!is_replaceable(x, path))
		return -1;
	if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_EXCHANGE) == 0) {
		remove_folder(temp, x->exporter->part);
		return 0;
	}
	/* The folder does not exist, or the file system cannot exchange names. */
	if (errno != ENOENT)
		remove_folder(path, x->exporter->part);
	if (rename(temp, path) == 0)
		return 0;
	snprintf(x->why, x->why_len, "cannot replace %s: %s", x->target->name, strerror(errno));
	return -1;
}

static int make_folder(struct task *x, char *temp, const char *path)
{
	mode_t mask = umask(0);
	int rc;

	umask(mask);
	if (!mkdtemp(temp) || chmod(temp, 0777 & ~mask) < 0) {
		snprintf(x->why, x->why_len, "cannot make %s: %s", x->target->name,
			 strerror(errno));
		return -1;
	}
	x->job->path = temp;
	rc = run_exporter(x);
	if (rc == 0 && x->target->overwrite) {
		rc = replace_folder(x, temp, path);
	} else if (rc == 0) {
		rc = rename(temp, path);
		if (rc < 0)
			snprintf(x->why, x->why_len, "cannot make %s: %s", x->target->name,
				 strerror(errno));
	}
	if (rc < 0)
		remove_folder(temp, NULL);
	return rc;
}

static int to_folder(struct task *x)
{
	/* The folder itself where a link leads to it. */
	char *path = realpath(x->target->name, NULL), *temp = NULL;
	int rc = -1;

	if (!path)
		path = strdup(x->target->name);
	if (!path || asprintf(&temp, "%s.XXXXXX", path) < 0) {
		snprintf(x->why, x->why_len, "out of memory");
		temp = NULL;
	} else if (!x->target->overwrite || is_replaceable(x, path)) {
		rc = make_folder(x, temp, path);
	}
	free(temp);
	free(path);
	return rc;
}

static int to_file(struct task *x)
{
	char *temp;
	int rc, fd = new_file_open(x->target->name, &temp), err = fd < 0 ? fd : 0;

	if (fd >= 0) {
		close(fd);
		x->job->path = temp;
		rc = run_exporter(x);
		if (rc == 0)
			err = new_file_place(temp, x->target->name, x->target->overwrite);
		if (rc < 0 || err)
			unlink(temp);
		free(temp);
		if (rc < 0)
			return -1;
	}
	if (err)
		snprintf(x->why, x->why_len, "cannot write %s: %s", x->target->name,
			 new_file_error(err));
	return err ? -1 : 0;
}

int target_write(const struct target *target, const struct exporter *exporter,
		 struct export_job *job, char *why, size_t why_len)
{
	struct task x = {target, exporter, job, why, why_len};

	*why = '\0';
	switch (exporter->shape) {
	case EXPORT_STREAM:
		return to_stream(&x);
	case EXPORT_FOLDER:
		return to_folder(&x);
	case EXPORT_FILE:
		return to_file(&x);
	}
	return -1;
}

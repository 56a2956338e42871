/* ask_run.c - the engine's program. */
#include "exporters/ranks/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/find_program.h"
#include "collector/base/message.h"

static bool is_there(const char *name)
{
	char *file = sl_find_program(name);

	free(file);
	return file;
}

const char *ask_engine(void)
{
	return is_there("duckdb") ? "duckdb" : is_there("spark-sql") ? "spark" : NULL;
}

/* The script as a file without a name, read from its begin. */
static int script_file(const char *script)
{
	FILE *f = tmpfile();
	int fd = -1;

	if (f && fputs(script, f) >= 0 && fflush(f) == 0)
		fd = dup(fileno(f));
	if (f)
		fclose(f);
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static void run_engine(const char *command, const struct ask *a, int script, int out)
{
	const char *mode = strcmp(a->format, "csv") == 0    ? "-csv"
			   : strcmp(a->format, "json") == 0 ? "-json"
							    : "-box";

	dup2(script, STDIN_FILENO);
	close(script);
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	if (strcmp(a->engine, "duckdb") == 0)
		execlp("duckdb", "duckdb", "-init", "/dev/null", "-bail", mode, "-nullvalue", "",
		       (char *)NULL);
	else
		/* The views are all there is in its catalogue: Hive's would be a database, made for this. */
		execlp("spark-sql", "spark-sql", "-S", "--conf",
		       "spark.sql.catalogImplementation=in-memory", "--hiveconf",
		       "hive.cli.print.header=true", "-f", "/dev/stdin", (char *)NULL);
	sl_warn("%s: %s: %s", command, a->engine, strerror(errno));
	_exit(SL_EXIT_NOTFOUND);
}

pid_t ask_start(const char *command, const struct ask *a, const char *script, int *out)
{
	bool is_duckdb = strcmp(a->engine, "duckdb") == 0;
	int fd, ends[2] = {-1, -1};
	pid_t pid;

	if (!is_there(is_duckdb ? "duckdb" : "spark-sql")) {
		sl_warn("%s: %s is not in PATH: '%s' installs it; 'sightline ranks sql' prints "
			"what it would run",
			command, is_duckdb ? "duckdb" : "spark-sql",
			is_duckdb ? "pip install duckdb-cli" : "pip install pyspark");
		return -1;
	}
	fd = script_file(script);
	fflush(NULL);
	pid = fd < 0 || (out && pipe2(ends, O_CLOEXEC) < 0) ? -1 : fork();
	if (pid == 0)
		run_engine(command, a, fd, ends[1]);
	if (pid < 0)
		sl_warn("%s: %s", command, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (ends[1] >= 0)
		close(ends[1]);
	if (pid < 0 && ends[0] >= 0)
		close(ends[0]);
	else if (out)
		*out = ends[0];
	return pid;
}

int ask_wait(const char *command, pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0) {
		sl_warn("%s: %s", command, strerror(errno));
		return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ask_run.c - the engine's program. */
#include "exporters/ranks/ask.h"

#include <errno.h>
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

static void start(const struct ask *a, int script)
{
	const char *mode = strcmp(a->format, "csv") == 0    ? "-csv"
			   : strcmp(a->format, "json") == 0 ? "-json"
							    : "-box";

	dup2(script, STDIN_FILENO);
	close(script);
	if (strcmp(a->engine, "duckdb") == 0)
		execlp("duckdb", "duckdb", "-init", "/dev/null", "-bail", mode, (char *)NULL);
	else
		/* Its catalogue stays in memory: nothing is left in the folder. */
		execlp("spark-sql", "spark-sql", "-S", "--conf",
		       "spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:memory:ranks;create="
		       "true",
		       "--driver-java-options", "-Dderby.stream.error.file=/dev/null", "--hiveconf",
		       "hive.cli.print.header=true", "-f", "/dev/stdin", (char *)NULL);
	sl_warn("ranks ask: %s: %s", a->engine, strerror(errno));
	_exit(SL_EXIT_NOTFOUND);
}

int ask_run(const struct ask *a, const char *script)
{
	bool is_duckdb = strcmp(a->engine, "duckdb") == 0;
	int fd, status;
	pid_t pid;

	if (!is_there(is_duckdb ? "duckdb" : "spark-sql")) {
		sl_warn("ranks ask: %s is not in PATH: '%s' installs it; --engine=print prints "
			"what it would run",
			is_duckdb ? "duckdb" : "spark-sql",
			is_duckdb ? "pip install duckdb-cli" : "pip install pyspark");
		return -1;
	}
	fd = script_file(script);
	fflush(NULL);
	pid = fd < 0 ? -1 : fork();
	if (pid == 0)
		start(a, fd);
	if (fd >= 0)
		close(fd);
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		sl_warn("ranks ask: %s", strerror(errno));
		return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

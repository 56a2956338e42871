/*
 * ranks_options.c - --ranks and --run. Faults of the dataset's folder are found before the program
 * runs.
 */
#include "collector/options/ranks_options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/options/output_name.h"
#include "collector/options/profile_options.h"
#include "collector/options/ranks_name.h"

/* Can the word be the name of a folder of the dataset, whatever the file system? */
static bool ranks_is_word(const char *word)
{
	return *word && *word != '.' && *word != '_' && strlen(word) < 128 &&
	       strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+") ==
		       strlen(word);
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && ranks_is_word(value) ? value : NULL;
}

const char *ranks_job(void)
{
	const char *id = variable("TORCHELASTIC_RUN_ID"), *job = variable("SLURM_JOB_ID");

	if (!job && id && strcmp(id, "none") != 0)
		job = id;
	return job ? job : variable("PMIX_NAMESPACE");
}

/* The rank of this process, by its launcher; NULL: unknown. */
static const char *ranks_rank(void)
{
	static const char *const names[] = {"RANK",          "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
					    "PMI_RANK",      "MV2_COMM_WORLD_RANK",  "PALS_RANKID",
					    "FLUX_TASK_RANK"};
	const char *rank = NULL, *tasks = variable("SLURM_NTASKS");

	for (size_t i = 0; !rank && i < sizeof(names) / sizeof(names[0]); i++)
		rank = variable(names[i]);
	if (!rank && tasks && strcmp(tasks, "1") != 0)
		rank = variable("SLURM_PROCID");
	return rank ? rank : variable("JOB_COMPLETION_INDEX");
}

/* Makes the folder, and those above it. 0 or -errno. */
static int make_folder(char *path)
{
	for (char *at = strchr(path + 1, '/');; at = strchr(at + 1, '/')) {
		int err;

		if (at)
			*at = 0;
		/* Where a folder is there, it may still not be permitted to make one. */
		err = mkdir(path, 0777) < 0 && access(path, F_OK) < 0 ? -errno : 0;
		if (at)
			*at = '/';
		if (err || !at)
			return err;
	}
}

static int settle_folder(struct profile_options *o, const char *cmd)
{
	char *path = absolute_path(o->after.ranks);
	struct stat st;
	int err = path ? make_folder(path) : -ENOMEM;

	if (!err && stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	if (!err && access(path, W_OK | X_OK) < 0)
		err = -errno;
	if (err) {
		sl_warn("%s: nothing can be written to the dataset '%s' of --ranks: %s", cmd,
			o->after.ranks, strerror(-err));
		free(path);
		return -SL_EXIT_USAGE;
	}
	o->after.ranks = path;
	return 0;
}

static int settle_run(struct profile_options *o, const char *cmd)
{
	char why[512], *run = output_name_expand(o->after.run, getpid(), why, sizeof(why));

	if (run && ranks_is_word(run)) {
		o->after.run = run;
		return 0;
	}
	if (run)
		sl_warn("%s: '%s' cannot be the name of a run: letters, digits and -_.+ only", cmd,
			run);
	else
		sl_warn("%s: option '--run': %s", cmd, why);
	free(run);
	return -SL_EXIT_USAGE;
}

/* Several processes of a node, and several nodes, may write into one folder. */
static const char *output(const char *given)
{
	const char *rank = ranks_rank();
	char host[HOST_NAME_MAX + 1] = "", *name;

	if (given && *given && given[strlen(given) - 1] != '/')
		return given;
	gethostname(host, sizeof(host) - 1);
	if (asprintf(&name, "%sreport%%n-%s%s%s", given ? given : "",
		     ranks_is_word(host) ? host : "host", rank ? "-" : "", rank ? rank : "") < 0)
		return given;
	return name;
}

/* Known now, not when the program has run for a day. One rank prints it. */
static void find_name(struct profile_options *o, const char *cmd)
{
	const char *rank = ranks_rank();
	char name[128];

	switch (ranks_name(o->after.ranks, name, sizeof(name))) {
	case RANKS_NAMED:
		o->after.run = strdup(name);
		break;
	case RANKS_NAMELESS:
		if (rank && strcmp(rank, "0") == 0)
			sl_warn("%s: the launcher gives this run no name that all nodes share: "
				"reports "
				"will not go into the dataset by themselves (--run=NAME; torchrun: "
				"--rdzv-id=NAME)",
				cmd);
		break;
	case RANKS_ALONE:
		break;
	}
}

int ranks_options_settle(struct profile_options *o, const char *cmd)
{
	int rc = 0;

	if (!o->after.ranks && o->after.run) {
		sl_warn("%s: '--run' names a run of a dataset: give --ranks=FOLDER too", cmd);
		return -SL_EXIT_USAGE;
	}
	if (!o->after.ranks)
		return 0;
	rc = settle_folder(o, cmd);
	if (!rc && o->after.run)
		rc = settle_run(o, cmd);
	else if (!rc && !ranks_job())
		find_name(o, cmd);
	o->output = output(o->output);
	return rc;
}

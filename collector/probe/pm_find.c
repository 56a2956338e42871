/*
 * pm_find.c - selects and loads libcupti. It opens libnvperf_host.so by name alone, which finds the one beside it only when
 * that is loaded already. Where the program has capabilities that its user lacks, only files of root's are loaded.
 */
#include "collector/probe/pm_find.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANDIDATES 24u
#define TRIAL_MS   10000

struct candidate {
	char *path;
	dev_t device;
	ino_t inode;
	uint32_t version; /* 0: does not work */
};

struct search {
	struct candidate at[CANDIDATES];
	unsigned cnt;
	bool is_secure;
	unsigned refused; /* not root's */
};

/* ---- loading ---- */

static void *load_beside(const char *path, const char *name)
{
	char beside[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!slash)
		return NULL;
	snprintf(beside, sizeof(beside), "%.*s/%s", (int)(slash - path), path, name);
	return dlopen(beside, RTLD_NOW | RTLD_LOCAL);
}

int pm_load(struct pm_library *l, const char *path, char *why, size_t why_size)
{
	const char *missing = NULL;

	memset(l, 0, sizeof(*l));
	l->driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	l->host = load_beside(path, "libnvperf_host.so");
	load_beside(path, "libnvperf_target.so");
	l->cupti = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!l->cupti) {
		snprintf(why, why_size, "%s", dlerror());
		return -ENOENT;
	}
#define CUPTI(name, parameters)                                          \
	l->api.name = (int(*) parameters)dlsym(l->cupti, "cupti" #name); \
	if (!l->api.name)                                                \
		missing = "cupti" #name;
#define DRIVER(name, parameters) \
	l->api.name = l->driver ? (int(*) parameters)dlsym(l->driver, "cu" #name) : NULL;
#include "collector/probe/pm_calls.def"
#undef CUPTI
#undef DRIVER
	snprintf(l->path, sizeof(l->path), "%s", path);
	if (missing) {
		snprintf(why, why_size, "%s has no %s: PM sampling needs CUDA 12.6 or later", path,
			 missing);
		return -ENOSYS;
	}
	return 0;
}

/* ---- whose files ---- */

/* And all folders above it. */
static bool is_roots(const char *path)
{
	char part[PATH_MAX];
	struct stat st;

	if (!realpath(path, part))
		return false;
	for (;;) {
		char *slash = strrchr(part, '/');

		if (stat(part, &st) || st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
			return false;
		if (!slash || !part[1])
			return true;
		slash[slash == part] = 0;
	}
}

/* ---- trials: one that does not fit the driver may crash, or hang ---- */

int pm_find_try(const char *path)
{
	static struct pm_library l;
	struct pm_chips chips = PM(pm_chips, chips);
	char why[256];
	uint32_t version = 0;

	/* A user that may run this program may not have its capabilities. */
	if (getauxval(AT_SECURE) && !is_roots(path))
		return 1;
	if (pm_load(&l, path, why, sizeof(why)) || l.api.GetVersion(&version))
		return 1;
	/* Without libnvperf_host: an error, or no chip. */
	if (version < PM_OLDEST || l.api.ProfilerHostGetSupportedChips(&chips) || !chips.cnt)
		return 1;
	/* Not exit(): handlers of loaded libraries must not run. */
	_exit(write(1, &version, sizeof(version)) != sizeof(version));
}

/* The version; 0: it does not work. */
static uint32_t try_in_child(const char *path)
{
	const char *const args[] = {"sl-gpu", PM_FIND_TRY, path, NULL};
	posix_spawn_file_actions_t actions;
	struct pollfd p = {.events = POLLIN};
	uint32_t version = 0;
	int fds[2], status;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC))
		return 0;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	if (posix_spawn(&child, "/proc/self/exe", &actions, NULL, (char *const *)(uintptr_t)args,
			environ))
		child = 0;
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	p.fd = fds[0];
	if (child) {
		if (poll(&p, 1, TRIAL_MS) < 1 ||
		    read(fds[0], &version, sizeof(version)) != sizeof(version))
			version = 0;
		kill(child, SIGKILL);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(fds[0]);
	return version;
}

/* ---- candidates ---- */

static void add(struct search *s, const char *path)
{
	struct stat st;

	if (s->cnt == CANDIDATES || stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	for (unsigned i = 0; i < s->cnt; i++)
		if (s->at[i].device == st.st_dev && s->at[i].inode == st.st_ino)
			return;
	if (s->is_secure && !is_roots(path)) {
		s->refused++;
		return;
	}
	s->at[s->cnt].path = strdup(path);
	s->at[s->cnt].device = st.st_dev;
	s->at[s->cnt].inode = st.st_ino;
	s->cnt += s->at[s->cnt].path != NULL;
}

/* From the last match on: cuda-13.0 comes before cuda-12.8, libcupti.so.13 before libcupti.so.12. */
static void add_pattern(struct search *s, const char *root, const char *tail)
{
	char pattern[PATH_MAX];
	glob_t found;

	if (!root || *root != '/')
		return;
	snprintf(pattern, sizeof(pattern), "%s%s/libcupti.so*", root, tail);
	if (glob(pattern, GLOB_NOSORT | GLOB_BRACE, NULL, &found) == 0)
		for (size_t i = found.gl_pathc; i--;)
			add(s, found.gl_pathv[i]);
	globfree(&found);
}

/* Wheels of the Pythons in PATH: of the folder that has the name, not of a link's target (/opt/venv/bin/python3). */
static void add_pythons(struct search *s)
{
	const char *path = secure_getenv("PATH");
	char *words = path ? strdup(path) : NULL, *state = NULL;

	for (char *word = words ? strtok_r(words, ":", &state) : NULL; word;
	     word = strtok_r(NULL, ":", &state)) {
		char program[PATH_MAX];

		snprintf(program, sizeof(program), "%s/python3", word);
		if (access(program, X_OK) == 0)
			add_pattern(s, word,
				    "/../lib*/python3*/{site,dist}-packages/nvidia/"
				    "{cu1[3-9],cuda_cupti}/lib");
	}
	free(words);
}

static void collect(struct search *s)
{
	static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"};
	static const char *const prefixes[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "HOME"};
	static const char in_toolkit[] = "/{extras/CUPTI/lib64,lib64,lib,targets/*/lib}";
	static const char in_wheels[] =
		"/{,.local/}lib/python3*/site-packages/nvidia/{cu1[3-9],cuda_cupti}/lib";

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		add_pattern(s, secure_getenv(variables[i]), in_toolkit);
	add_pattern(s, "/usr/local/cuda", in_toolkit);
	add_pattern(s, "/usr/local/cuda-1[2-9]*", in_toolkit);
	add_pattern(s, "/opt/cuda", in_toolkit);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		add_pattern(s, secure_getenv(prefixes[i]), in_wheels);
		add_pattern(s, i == 1 ? secure_getenv(prefixes[i]) : NULL, "/lib");
	}
	add_pythons(s);
	add_pattern(s, "/usr",
		    "/{local/,}lib/python3*/dist-packages/nvidia/{cu1[3-9],cuda_cupti}/lib");
	add_pattern(s, "/usr", "/lib{64,/x86_64-linux-gnu,/aarch64-linux-gnu,}");
}

int pm_find(struct pm_library *l, char *why, size_t why_size)
{
	struct search s = {.is_secure = getauxval(AT_SECURE) != 0};
	const char *named = secure_getenv("SIGHTLINE_CUPTI");
	const struct candidate *best = NULL;
	int result = -ENOENT;

	if (named)
		add(&s, named);
	else
		collect(&s);
	for (unsigned i = 0; i < s.cnt; i++) {
		s.at[i].version = try_in_child(s.at[i].path);
		/* 24 and 26 of CUDA 12, 130000 of CUDA 13. */
		if (s.at[i].version && (!best || s.at[i].version > best->version))
			best = &s.at[i];
	}
	if (best) {
		result = pm_load(l, best->path, why, why_size);
		l->api.version = best->version;
	} else if (s.cnt) {
		snprintf(why, why_size,
			 "%s%s does not work with this driver, is older than CUDA 12.6, or has no "
			 "libnvperf_host.so beside it",
			 s.at[0].path, s.cnt > 1 ? " (and others)" : "");
	} else if (s.refused) {
		snprintf(why, why_size,
			 "no libcupti that belongs to root (sl-gpu has capabilities of its own)");
	} else {
		snprintf(why, why_size, "%s%s",
			 named ? named
			       : "no libcupti found: install a CUDA toolkit, or nvidia-cuda-cupti "
				 "from PyPI",
			 named ? ": no such file (SIGHTLINE_CUPTI)" : "");
	}
	for (unsigned i = 0; i < s.cnt; i++)
		free(s.at[i].path);
	return result;
}

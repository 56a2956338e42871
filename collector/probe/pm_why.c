/*
 * pm_why.c - the meaning of CUPTI's results, in one line, with a remedy for the user of this
 * machine.
 */
#include "collector/probe/pm_session.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Programs that sample by the same unit of the GPU; word: where it is in their command line. */
static const struct {
	const char *comm, *word, *remedy;
} rivals[] = {
	{"nv-hostengine", NULL, "dcgmi profile --pause"},
	{"dcgm-exporter", NULL, "dcgmi profile --pause"},
	{"nsys", "gpu-metrics", NULL},
	{"ncu", NULL, NULL},
	{"ncu-ui", NULL, NULL},
	{"nv-nsight-cu-cli", NULL, NULL},
	{"ngfx", NULL, NULL},
	{"sl-gpu", "--devices", NULL},
};

static bool has_word(const char *pid, const char *word)
{
	char path[64], line[4096];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%.16s/cmdline", pid);
	f = fopen(path, "re");
	n = f ? fread(line, 1, sizeof(line), f) : 0;
	if (f)
		fclose(f);
	return memmem(line, n, word, strlen(word)) != NULL;
}

static bool read_line(const char *path, char *line, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(line, (int)size, f);

	if (f)
		fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = 0;
	return ok;
}

/* "ncu (PID 123)"; "": none is known. */
static void find_rival(char *text, size_t size)
{
	DIR *proc = opendir("/proc");
	char path[64], comm[32];

	*text = 0;
	for (struct dirent *e; proc && (e = readdir(proc));) {
		if (!isdigit((unsigned char)*e->d_name) || atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%.16s/comm", e->d_name);
		if (!read_line(path, comm, sizeof(comm)))
			continue;
		for (size_t i = 0; i < sizeof(rivals) / sizeof(*rivals) && !*text; i++) {
			if (strcmp(comm, rivals[i].comm) != 0 ||
			    (rivals[i].word && !has_word(e->d_name, rivals[i].word)))
				continue;
			snprintf(text, size, "%s (PID %.16s): end it%s%s%s", comm, e->d_name,
				 rivals[i].remedy ? ", or `" : "",
				 rivals[i].remedy ? rivals[i].remedy : "",
				 rivals[i].remedy ? "`" : "");
		}
	}
	if (proc)
		closedir(proc);
}

static bool is_container(void)
{
	return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
	       getenv("KUBERNETES_SERVICE_HOST");
}

/* -1: not known */
static int is_admin_only(void)
{
	FILE *f = fopen("/proc/driver/nvidia/params", "re");
	char line[256];
	int value = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "RmProfilingAdminOnly: %d", &value);
	if (f)
		fclose(f);
	return value;
}

static void remedy(char *text, size_t size)
{
	char self[160] = "sl-gpu";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0)
		self[n] = 0;
	if (is_admin_only() == 0)
		snprintf(text, size,
			 "although the driver does not restrict it (RmProfilingAdminOnly: 0): the "
			 "host of this virtual GPU or container may");
	else if (is_container())
		snprintf(text, size,
			 "start the container with --cap-add=PERFMON (older drivers: SYS_ADMIN)");
	else
		snprintf(text, size,
			 "run as root, or `setcap cap_perfmon+ep %s`, or load the driver with "
			 "NVreg_RestrictProfilingToAdminUsers=0",
			 self);
}

void pm_explain(const struct pm_device *d, struct source_why *why, const char *step, int result,
		bool is_sampled)
{
	const char *text = NULL;
	char more[SOURCE_WHY - 80];

	switch (result) {
	case PM_INSUFFICIENT_PRIVILEGES:
	case PM_VIRTUALIZED_PRIVILEGES:
		remedy(more, sizeof(more));
		snprintf(why->text, sizeof(why->text),
			 "the driver permits it to administrators only: %s", more);
		return;
	case PM_INVALID_OPERATION:
	case PM_HARDWARE_BUSY:
	case PM_UNKNOWN:
		if (is_sampled)
			break;
		find_rival(more, sizeof(more));
		if (*more)
			snprintf(why->text, sizeof(why->text), "another profiler holds GPU %u: %s",
				 d->gpu->index, more);
		else
			snprintf(why->text, sizeof(why->text),
				 "another profiler seems to hold GPU %u (DCGM? `dcgmi profile "
				 "--pause`): %s: error %d",
				 d->gpu->index, step, result);
		return;
	case PM_VIRTUALIZED:
		text = "virtual GPUs (vGPU) cannot be sampled";
		break;
	case PM_CONFIDENTIAL:
		text = "confidential computing is on";
		break;
	case PM_MINING:
		text = "mining GPUs (CMP) cannot be sampled";
		break;
	case PM_MIG:
		text = "the GPU is divided (MIG)";
		break;
	case PM_SLI:
		text = "the GPU is part of SLI";
		break;
	case PM_WSL:
		text = "not under WSL with this driver";
		break;
	default:
		break;
	}
	if (!text && d->library && d->library->api.GetResultString(result, &text))
		text = NULL;
	snprintf(why->text, sizeof(why->text), "%s: %s (error %d)", step, text ? text : "failed",
		 result);
}

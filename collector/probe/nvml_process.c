/*
 * nvml_process.c - processes on a GPU, by NVML: a stream for each.
 *
 * Their list has pids of the caller's PID namespace with newer drivers; samples of utilisation may have those of the
 * machine. So utilisation counts only for a pid that is in the list, and a pid counts only where a process has it.
 */
#include "collector/probe/nvml_process.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROCESSES 128u
#define USES      512u

struct process {
	unsigned pid; /* 0: none */
	int stream;
	bool is_there;
	double memory, use;
	unsigned uses;
};

struct nvml_processes {
	struct probe_gpu *gpu;
	struct out *out;
	bool is_unsupported, has_no_use;
	unsigned long long last_us;
	struct process process[PROCESSES];
};

struct nvml_processes *nvml_processes_new(struct probe_gpu *gpu, struct out *out)
{
	struct nvml_processes *p = calloc(1, sizeof(*p));
	struct timespec ts;

	if (!p)
		return NULL;
	clock_gettime(CLOCK_REALTIME, &ts);
	p->gpu = gpu;
	p->out = out;
	p->last_us =
		(unsigned long long)ts.tv_sec * 1000000 + (unsigned long long)ts.tv_nsec / 1000;
	return p;
}

void nvml_processes_free(struct nvml_processes *p)
{
	free(p);
}

static struct process *find(struct nvml_processes *p, unsigned pid)
{
	for (unsigned i = 0; i < PROCESSES; i++)
		if (p->process[i].pid == pid)
			return &p->process[i];
	return NULL;
}

static struct process *add(struct nvml_processes *p, unsigned pid)
{
	static const struct probe_name name[2] = {{"GPU Memory Used", "B", 0},
						  {"SM Utilization", "%", 0}};
	struct probe_stream stream = {.what = PROBE_COUNTERS,
				      .clock = PROBE_MONOTONIC,
				      .gpu = p->gpu->info.gpu,
				      .source = "nvml",
				      .clocks_locked = -1,
				      .pid = (int32_t)pid};
	struct process *one = find(p, 0);

	if (!one || !out_stream(p->out, &stream, name, 2))
		return NULL;
	one->pid = pid;
	one->stream = stream.stream;
	return one;
}

static bool exists(unsigned pid)
{
	return pid && pid <= INT32_MAX && (!kill((pid_t)pid, 0) || errno == EPERM);
}

static void read_list(struct nvml_processes *p)
{
	const struct nvml *n = p->gpu->nvml;
	struct nvml_process list[PROCESSES];
	unsigned cnt = PROCESSES, ret;

	memset(list, 0, sizeof(list));
	ret = n->processes ? n->processes(p->gpu->device, &cnt, list) : NVML_FUNCTION_NOT_FOUND;
	if (ret == NVML_INSUFFICIENT_SIZE)
		cnt = PROCESSES; /* the first ones */
	else if (ret != NVML_SUCCESS)
		cnt = 0;
	p->is_unsupported = ret == NVML_NOT_SUPPORTED || ret == NVML_FUNCTION_NOT_FOUND;
	for (unsigned i = 0; i < cnt && i < PROCESSES; i++) {
		struct process *one = find(p, list[i].pid);

		if (!exists(list[i].pid) || (!one && !(one = add(p, list[i].pid))))
			continue;
		one->is_there = true;
		/* Not available, as in containers, is all ones. */
		one->memory = list[i].used == UINT64_MAX ? NAN : (double)list[i].used;
	}
}

static void read_use(struct nvml_processes *p)
{
	const struct nvml *n = p->gpu->nvml;
	struct nvml_process_use use[USES];
	unsigned cnt = USES, ret;
	unsigned long long last = p->last_us;

	if (p->has_no_use || !n->process_use)
		return;
	ret = n->process_use(p->gpu->device, use, &cnt, last);
	p->has_no_use = ret == NVML_NOT_SUPPORTED || ret == NVML_NO_PERMISSION;
	if (ret != NVML_SUCCESS)
		return; /* not found: nothing is new */
	for (unsigned i = 0; i < cnt && i < USES; i++) {
		struct process *one = use[i].pid ? find(p, use[i].pid) : NULL;

		if (use[i].time_us > p->last_us)
			p->last_us = use[i].time_us;
		if (!one || !one->is_there || use[i].time_us <= last || use[i].sm > 100)
			continue;
		one->use += use[i].sm;
		one->uses++;
	}
}

void nvml_processes_poll(struct nvml_processes *p)
{
	if (!p || p->is_unsupported)
		return;
	for (unsigned i = 0; i < PROCESSES; i++)
		p->process[i].is_there = false;
	for (unsigned i = 0; i < PROCESSES; i++) {
		p->process[i].use = 0;
		p->process[i].uses = 0;
	}
	read_list(p);
	read_use(p);
	for (unsigned i = 0; i < PROCESSES; i++) {
		struct process *one = &p->process[i];
		double value[2] = {NAN, NAN};
		int64_t now = out_now();

		if (!one->pid)
			continue;
		if (one->is_there) {
			value[0] = one->memory;
			value[1] = one->uses ? one->use / one->uses : NAN;
		}
		/* Ends the curve of a process that has ended. */
		out_values(p->out, (unsigned)one->stream, now, now, value, 2);
		if (!one->is_there)
			one->pid = 0;
	}
}

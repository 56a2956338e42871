/* health_options.h - values of --gpu-metrics-devices, -set, -frequency, --gpu-health and --enable. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct health_options {
	const char *devices;   /* --gpu-metrics-devices; NULL: not given */
	const char *set;       /* --gpu-metrics-set; NULL: not given */
	const char *frequency; /* --gpu-metrics-frequency; NULL: not given */
	int64_t hz;            /* --gpu-health: readings per second; 0: none */
	bool is_default; /* nothing of this was asked for: a machine without GPUs is no news */
};

/* As they were typed; NULL: not given. */
struct health_words {
	const char *devices, *set, *frequency, *enable;
	int64_t hz; /* -1: not given */
};

#define HEALTH_HZ      10
#define HEALTH_HZ_MOST 100
/* Samples per second of hardware metrics. */
#define METRIC_HZ_LEAST INT64_C(10)
#define METRIC_HZ_MOST  INT64_C(200000)

/* Are hardware metrics asked for? */
bool health_wants_metrics(const struct health_options *o);

/*
 * @has_cuda: the program's CUDA calls are traced. 0; OPT_HELP_SHOWN: a list was asked for, and is printed (@may_help: else that
 * is wrong); -SL_EXIT_USAGE after one line that names @cmd.
 */
int health_options_read(struct health_options *o, const struct health_words *words, bool has_cuda,
			bool may_help, const char *cmd);

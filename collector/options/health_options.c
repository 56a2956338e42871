/*
 * health_options.c - checks the options about GPUs' hardware metrics and health. Values that depend
 * on the machine (numbers of GPUs, metric sets) are checked by sl-gpu.
 */
#include "collector/options/health_options.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/beside.h"
#include "collector/base/message.h"
#include "collector/base/options.h"

bool health_wants_metrics(const struct health_options *o)
{
	return o->devices && strcmp(o->devices, "none") != 0;
}

static int wrong(const char *cmd, const char *option, const char *takes, const char *got)
{
	sl_warn("%s: option '--%s' takes %s, not '%s' (see 'sightline %s --help')", cmd, option,
		takes, got, cmd);
	return -SL_EXIT_USAGE;
}

static int show(const char *option, const char *list, bool may_help, const char *cmd)
{
	bool is_there;
	char *path;
	int rc;

	if (!may_help) {
		sl_warn("%s: '--%s=help' makes no sense here", cmd, option);
		return -SL_EXIT_USAGE;
	}
	path = beside_find("sl-gpu", "SIGHTLINE_SL_GPU");
	is_there = path != NULL;
	rc = is_there ? beside_run(path, list) : -1;
	free(path);
	if (rc)
		sl_warn("%s: sl-gpu, which knows the GPUs, %s", cmd,
			is_there ? "has failed"
				 : "is neither beside this program nor in ../lib/sightline");
	return rc ? -SL_EXIT_FAIL : OPT_HELP_SHOWN;
}

/* A whole number with an optional k or M behind it, between @at and the next comma; -1: something else. */
static int64_t number(const char *at, size_t len)
{
	int64_t v = 0;
	size_t i = 0;

	for (; i < len && at[i] >= '0' && at[i] <= '9'; i++) {
		v = v * 10 + (at[i] - '0');
		if (v > METRIC_HZ_MOST)
			return -1;
	}
	if (!i || i + 1 < len)
		return -1;
	if (i < len)
		v *= at[i] == 'k' || at[i] == 'K'   ? 1000
		     : at[i] == 'm' || at[i] == 'M' ? 1000000
						    : -1;
	return v;
}

static int check_frequency(const char *text, const char *cmd)
{
	const char *p = text;

	do {
		size_t len = strcspn(p, ",");
		int64_t hz = number(p, len);

		if (hz < METRIC_HZ_LEAST || hz > METRIC_HZ_MOST)
			return wrong(cmd, "gpu-metrics-frequency",
				     "10 to 200000 samples per second (10k is 10000), one or one "
				     "for each GPU",
				     text);
		p += len;
	} while (*p++);
	return 0;
}

static bool is_number(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] < '0' || p[i] > '9')
			return false;
	return len > 0 && len < 6;
}

static int check_devices(const char *text, const char *cmd)
{
	const char *p = text;

	if (!strcmp(text, "all") || !strcmp(text, "none") || !strcmp(text, "cuda-visible"))
		return 0;
	do {
		size_t len = strcspn(p, ",");

		if (!is_number(p, len))
			return wrong(cmd, "gpu-metrics-devices",
				     "none, all, cuda-visible, help or numbers of GPUs (help lists "
				     "them)",
				     text);
		p += len;
	} while (*p++);
	return 0;
}

/* nvml_metrics and, of it, -iMS; nsys has other plugins. */
static int read_enable(const char *text, int64_t *hz, const char *cmd)
{
	bool is_ours = false;
	char later[256] = "";

	for (const char *p = text; *p;) {
		size_t len = strcspn(p, ",");

		if (len == 12 && !memcmp(p, "nvml_metrics", 12)) {
			is_ours = true;
			*hz = HEALTH_HZ;
		} else if (is_ours && len > 2 && !memcmp(p, "-i", 2)) {
			int64_t ms = number(p + 2, len - 2);

			if (ms < 1 || ms > 60000)
				return wrong(cmd, "enable", "nvml_metrics,-iMS with 1 to 60000 ms",
					     text);
			*hz = 1000 / ms > HEALTH_HZ_MOST ? HEALTH_HZ_MOST
			      : 1000 / ms < 1            ? 1
							 : 1000 / ms;
		} else if (len && *p != '-') {
			is_ours = false;
			if (!*later && len < sizeof(later)) {
				memcpy(later, p, len);
				later[len] = '\0';
			}
		}
		p += len + (p[len] == ',');
	}
	if (*later && strcmp(later, "none") != 0)
		sl_warn("%s: not yet: --enable=%s", cmd, later);
	return 0;
}

int health_options_read(struct health_options *o, const struct health_words *w, bool has_cuda,
			bool may_help, const char *cmd)
{
	int64_t enabled = 0;
	int rc = 0;

	*o = (struct health_options){
		.devices = w->devices, .set = w->set, .frequency = w->frequency};
	if (w->devices && !strcmp(w->devices, "help"))
		return show("gpu-metrics-devices", "list", may_help, cmd);
	if (w->set && !strcmp(w->set, "help"))
		return show("gpu-metrics-set", "sets", may_help, cmd);
	if (w->devices)
		rc = check_devices(w->devices, cmd);
	if (!rc && w->frequency)
		rc = check_frequency(w->frequency, cmd);
	if (!rc && w->enable)
		rc = read_enable(w->enable, &enabled, cmd);
	if (rc)
		return rc;
	if (w->hz >= 0)
		o->hz = w->hz;
	else if (enabled)
		o->hz = enabled;
	else if (has_cuda || health_wants_metrics(o))
		o->hz = HEALTH_HZ;
	o->is_default = w->hz <= 0 && !enabled && !health_wants_metrics(o);
	return 0;
}

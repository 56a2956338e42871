/* sets.c - the table of metrics and chips, and lists of metrics out of files. */
#include "collector/probe/sets.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define METRIC(group, name, ...)    {name, PM_##group, false, {__VA_ARGS__}},
#define OTHERWISE(group, name, ...) {name, PM_##group, true, {__VA_ARGS__}},
#define FAMILY(...)
const struct pm_metric pm_metrics[] = {
#include "collector/probe/sets.def"
};
#undef METRIC
#undef OTHERWISE
#undef FAMILY
#define METRIC(group, name, ...)
#define OTHERWISE(group, name, ...)
#define NVLINK true
#define NONE   false
#define FAMILY(alias, chips, trigger, nvlink, ...) \
	{#alias, chips, PM_##trigger, nvlink, {__VA_ARGS__}},
const struct pm_family pm_families[] = {
#include "collector/probe/sets.def"
};
#undef METRIC
#undef OTHERWISE
#undef FAMILY
#undef NVLINK
#undef NONE
const unsigned pm_metric_cnt = sizeof(pm_metrics) / sizeof(*pm_metrics);
const unsigned pm_family_cnt = sizeof(pm_families) / sizeof(*pm_families);

static const struct {
	const char *tail, *what;
	unsigned groups;
} variants[] = {
	{"", "General Metrics", PM_GENERAL | PM_LINKS},
	{"-nvlink", "General Metrics, NVLink by kind of packet,", PM_GENERAL | PM_PACKETS},
	{"-full", "General Metrics, bytes and pipes", PM_GENERAL | PM_LINKS | PM_MORE},
};
#define VARIANTS (sizeof(variants) / sizeof(*variants))

#define FILE_MAX   (64u << 10)
#define FILE_LINES 64u  /* PROBE_VALUES_MAX */
#define NAME_MAX_  128u /* of a metric, with its unit */

const struct pm_family *pm_family_of(const char *chip)
{
	for (unsigned i = 0; i < pm_family_cnt; i++)
		for (const char *const *b = pm_families[i].begins; *b; b++)
			if (strncmp(chip, *b, strlen(*b)) == 0)
				return &pm_families[i];
	return NULL;
}

void pm_alias(const char *chip, char *alias, size_t size)
{
	const struct pm_family *f = pm_family_of(chip);

	snprintf(alias, size, "%s", f ? f->alias : chip);
	for (char *c = alias; *c; c++)
		*c = (char)tolower((unsigned char)*c);
}

static bool has_variant(const struct pm_family *f, size_t variant)
{
	return !(variants[variant].groups & PM_PACKETS) || !f || f->has_nvlink;
}

static unsigned groups_of(const struct pm_family *f, const char *alias, const char *set)
{
	size_t len = strlen(alias);

	if (strncmp(set, alias, len) != 0)
		return 0;
	for (size_t i = 0; i < VARIANTS; i++)
		if (strcmp(set + len, variants[i].tail) == 0 && has_variant(f, i))
			return variants[i].groups;
	return 0;
}

unsigned pm_groups_of(const char *chip, const char *set)
{
	char alias[32];

	pm_alias(chip, alias, sizeof(alias));
	return groups_of(pm_family_of(chip), alias, set);
}

bool pm_set_of(const char *chip, unsigned n, char *set, size_t size, const char **what)
{
	const struct pm_family *f = pm_family_of(chip);

	for (size_t i = 0; i < VARIANTS; i++) {
		if (!has_variant(f, i) || n--)
			continue;
		pm_alias(chip, set, size);
		snprintf(set + strlen(set), size - strlen(set), "%s", variants[i].tail);
		*what = variants[i].what;
		return true;
	}
	return false;
}

bool pm_is_set(const char *set)
{
	for (unsigned i = 0; i < pm_family_cnt; i++)
		if (groups_of(&pm_families[i], pm_families[i].alias, set))
			return true;
	return false;
}

bool pm_is_percent(const char *name)
{
	size_t len = strlen(name);

	return len >= 2 && name[len - 2] == '%' && name[len - 1] == ']';
}

int pm_wants_of_groups(struct pm_wants *w, unsigned groups)
{
	memset(w, 0, sizeof(*w));
	w->at = calloc(pm_metric_cnt, sizeof(*w->at));
	if (!w->at)
		return -ENOMEM;
	for (unsigned i = 0; i < pm_metric_cnt; i++)
		if (pm_metrics[i].group & groups)
			w->at[w->cnt++] = pm_metrics[i];
	return 0;
}

void pm_wants_free(struct pm_wants *w)
{
	free(w->at);
	free(w->text);
	memset(w, 0, sizeof(*w));
}

/* ---- files ---- */

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	for (end = s + strlen(s); end > s && isspace((unsigned char)end[-1]);)
		*--end = 0;
	return s;
}

/* unit__counter.rollup, or longer: the form of CUPTI's metrics. */
static bool is_metric(const char *s)
{
	for (const char *c = s; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.')
			return false;
	return isalpha((unsigned char)*s) && strstr(s, "__") && strchr(strstr(s, "__"), '.') &&
	       s[strlen(s) - 1] != '.';
}

/* NULL, or the fault. */
static const char *read_line(struct pm_wants *w, char *line)
{
	struct pm_metric *m = &w->at[w->cnt];
	char *name = trim(line), *sign = strchr(name, '=');

	memset(m, 0, sizeof(*m));
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' && *c != '\t')
			return "not a line of text";
	if (strlen(name) > NAME_MAX_ * 2)
		return "the line is too long";
	for (unsigned i = 0; i < pm_metric_cnt && !sign; i++)
		if (strcmp(pm_metrics[i].name, name) == 0)
			*m = pm_metrics[i];
	m->is_otherwise = false;
	if (!m->name) {
		if (sign)
			*sign++ = 0;
		m->spellings[0] = sign ? trim(sign) : name;
		m->name = trim(name);
		if (!*m->name)
			return "no name before the =";
		if (strlen(m->name) > NAME_MAX_)
			return "the name is too long";
		if (!is_metric(m->spellings[0]))
			return "neither the name of a metric of sets nor one of CUPTI's "
			       "(unit__counter.rollup)";
	}
	for (unsigned i = 0; i < w->cnt; i++)
		if (strcmp(w->at[i].name, m->name) == 0)
			return "a second metric of this name";
	w->cnt++;
	return NULL;
}

/* The file's text, with a NUL behind it. */
static int slurp(const char *path, char **text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = 0, got = 0;
	struct stat st;
	int result = 0;

	if (fd < 0)
		return -errno;
	*text = malloc(FILE_MAX + 1);
	if (!*text)
		result = -ENOMEM;
	else if (fstat(fd, &st))
		result = -errno;
	else if (S_ISDIR(st.st_mode))
		result = -EISDIR;
	while (!result && n < (ssize_t)FILE_MAX &&
	       (got = read(fd, *text + n, FILE_MAX - (size_t)n)) > 0)
		n += got;
	if (!result && got < 0)
		result = -errno;
	if (!result && n == (ssize_t)FILE_MAX)
		result = -EFBIG;
	close(fd);
	if (!result)
		(*text)[n] = 0;
	/* A NUL inside would hide the rest. */
	if (!result && strlen(*text) != (size_t)n)
		result = -EILSEQ;
	return result;
}

int pm_wants_of_file(struct pm_wants *w, const char *path, char *why, size_t why_size)
{
	char *line, *next;
	int result;
	unsigned n = 1;

	memset(w, 0, sizeof(*w));
	result = slurp(path, &w->text);
	if (result) {
		snprintf(why, why_size, "%s: %s", path, strerror(-result));
		goto fail;
	}
	w->at = calloc(FILE_LINES, sizeof(*w->at));
	result = w->at ? 0 : -ENOMEM;
	snprintf(why, why_size, "%s: out of memory", path);
	for (line = w->text; !result && line; line = next, n++) {
		const char *wrong = NULL;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		line = trim(line);
		if (!*line || *line == '#')
			continue;
		wrong = w->cnt == FILE_LINES ? "too many metrics" : read_line(w, line);
		if (wrong) {
			snprintf(why, why_size, "%s:%u: %s", path, n, wrong);
			result = -EINVAL;
		}
	}
	if (!result && !w->cnt) {
		snprintf(why, why_size, "%s: no metric in it", path);
		result = -EINVAL;
	}
	if (!result)
		return 0;
fail:
	pm_wants_free(w);
	return result;
}

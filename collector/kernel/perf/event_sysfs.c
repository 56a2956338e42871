/* event_sysfs.c - reads the events of a PMU from sysfs. */
#include "collector/kernel/perf/event_sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first line of a file; false: there is none. */
__attribute__((format(printf, 3, 4))) static bool read_word(char *text, size_t size,
							    const char *format, ...)
{
	char path[1024];
	va_list ap;
	FILE *f;
	bool ok;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(text, (int)size, f) != NULL;
	fclose(f);
	if (ok)
		text[strcspn(text, "\n")] = 0;
	return ok;
}

/* Puts @value where the format places it: its lowest bits into the first range, and so on. */
static bool put_bits(struct event_def *e, const char *format, uint64_t value)
{
	static const char *const words[] = {"config", "config1", "config2"};
	size_t len = strcspn(format, ":"), which = 0;

	while (which < 3 && !(strlen(words[which]) == len && !memcmp(words[which], format, len)))
		which++;
	if (which == 3 || format[len] != ':')
		return false;
	for (const char *p = format + len + 1; *p;) {
		unsigned low, high;
		int used = 0;

		if (sscanf(p, "%u-%u%n", &low, &high, &used) != 2) {
			if (sscanf(p, "%u%n", &low, &used) != 1)
				return false;
			high = low;
		}
		if (high > 63 || low > high)
			return false;
		for (unsigned bit = low; bit <= high; bit++, value >>= 1)
			e->config[which] |= (value & 1) << bit;
		p += used;
		p += *p == ',';
	}
	return value == 0;
}

/* One "word=0x3" or "word", of those between commas. */
static bool put_term(struct event_def *e, const char *pmu, char *term)
{
	char format[128], *equals = strchr(term, '='), *end = NULL;
	uint64_t value = 1;

	if (equals) {
		*equals = 0;
		value = strtoull(equals + 1, &end, 0);
		if (end == equals + 1 || *end)
			return false; /* "?": for the user to fill in */
	}
	if (strchr(term, '/') || !read_word(format, sizeof(format), "%s/format/%s", pmu, term))
		return false;
	return put_bits(e, format, value);
}

static bool read_event(struct event_def *e, const char *pmu, const char *name)
{
	char text[512], *save = NULL;

	if (!read_word(text, sizeof(text), "%s/events/%s", pmu, name))
		return false;
	for (char *term = strtok_r(text, ",", &save); term; term = strtok_r(NULL, ",", &save))
		if (!put_term(e, pmu, term))
			return false;
	return true;
}

static bool is_there(const struct event_list *l, const char *name)
{
	for (size_t i = 0; i < l->cnt; i++)
		if (strcasecmp(l->list[i].name, name) == 0)
			return true;
	return false;
}

/* True: the list has @name already, or it is a file beside an event ("mem-loads.scale"). */
static bool is_left_out(const struct event_list *l, const char *name)
{
	return name[0] == '.' || strchr(name, '.') || strlen(name) >= sizeof(l->list[0].name) ||
	       is_there(l, name);
}

static int add_pmu(struct event_list *l, const char *pmu, const char *pmu_name, unsigned *id)
{
	char folder[1024], text[32];
	struct dirent **files;
	int cnt, err = 0;
	uint32_t type;

	if (!read_word(text, sizeof(text), "%s/type", pmu))
		return 0;
	type = (uint32_t)strtoul(text, NULL, 10);
	snprintf(folder, sizeof(folder), "%s/events", pmu);
	cnt = scandir(folder, &files, NULL, alphasort);
	for (int i = 0; i < cnt; i++) {
		const char *name = files[i]->d_name;
		struct event_def e = {.id = *id, .kind = EVENT_CORE, .type = type}, *more;

		if (!err && !is_left_out(l, name) && read_event(&e, pmu, name)) {
			more = realloc(l->list, (l->cnt + 1) * sizeof(*more));
			err = more ? 0 : -ENOMEM;
			if (more) {
				snprintf(e.name, sizeof(e.name), "%.*s", (int)sizeof(e.name) - 1,
					 name);
				snprintf(e.about, sizeof(e.about), "event of this CPU (%.40s)",
					 pmu_name);
				l->list = more;
				l->list[l->cnt++] = e;
				++*id;
			}
		}
		free(files[i]);
	}
	if (cnt >= 0)
		free(files);
	return err;
}

/* PMUs of CPUs: "cpu", and with several sorts of cores the PMUs that list their CPUs. */
int event_sysfs_add(struct event_list *l, const char *sysfs)
{
	struct dirent **folders;
	unsigned id = EVENT_SYSFS_FIRST;
	int cnt = scandir(sysfs, &folders, NULL, alphasort), err = 0;
	char pmu[768], cpus[1024];

	for (int i = 0; i < cnt; i++) {
		const char *name = folders[i]->d_name;

		snprintf(pmu, sizeof(pmu), "%s/%.200s", sysfs, name);
		snprintf(cpus, sizeof(cpus), "%s/cpus", pmu);
		if (!err && name[0] != '.' && (!strcmp(name, "cpu") || !access(cpus, R_OK)))
			err = add_pmu(l, pmu, name, &id);
		free(folders[i]);
	}
	if (cnt >= 0)
		free(folders);
	return err;
}

/* python_modules.c - offers the Python modules to traced programs and reports functions that they did not find. */
#include "collector/collect/python_modules.h"
#include "collector/collect/notes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/decode/python_register.h"
#include "collector/options/python_options.h"

#define WARNING 2
#define INFO    1

static void put_text(FILE *f, const char *value)
{
	for (; *value; value++)
		/* Nothing that means something in a path or in a list of paths. */
		if (strchr("_,", *value) || isalnum((unsigned char)*value))
			fputc(*value, f);
		else
			fprintf(f, "%%%02X", (unsigned char)*value);
}

static void put_encoded(FILE *f, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(f, "&%s=", name);
	put_text(f, value);
}

/* One line for functions of one module that look alike: domain, color, module, functions, with tabs between them. */
static void put_functions(FILE *f)
{
	const struct python_functions *functions = python_options_functions();
	const struct python_function *last = NULL;
	char color[16];

	if (functions->cnt)
		fprintf(f, "&functions=");
	for (size_t i = 0; i < functions->cnt; i++) {
		const struct python_function *one = &functions->at[i];

		if (last && last->color == one->color && strcmp(last->module, one->module) == 0 &&
		    strcmp(last->domain, one->domain) == 0) {
			put_text(f, ",");
		} else {
			snprintf(color, sizeof(color), "\t%u\t", one->color);
			put_text(f, last ? "\n" : "");
			put_text(f, one->domain);
			put_text(f, color);
			put_text(f, one->module);
			put_text(f, "\t");
		}
		put_text(f, one->name);
		last = one;
	}
}

static int put_file(const struct collector *c, const char *folder)
{
	char path[SESSION_DIR_MAX + 16];
	bool is_long;
	int fd, bad;
	FILE *f;

	snprintf(path, sizeof(path), "%s/python", c->session.dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	/* As for the control file: a program that root traces may become another user. */
	if (geteuid() == 0)
		fchmod(fd, 0644);
	fprintf(f, "%s:%s/", folder, folder);
	put_encoded(f, "steps", c->options->python.steps);
	put_encoded(f, "pytorch", c->options->python.pytorch);
	if (c->options->trace & SL_TRACE_PYTHON_GC)
		put_encoded(f, "gc", "1");
	put_functions(f);
	/* The limit of a search path: preload/python/python.c. */
	is_long = ftell(f) >= 59000;
	bad = ferror(f);
	return fclose(f) || bad ? -EIO : is_long ? -E2BIG : 0;
}

/* python/ next to libtrace.so, where both the build and the installation put it. */
static bool find_folder(const char *preload, char *folder, size_t room)
{
	char main_file[PATH_MAX + 64];
	const char *slash = preload ? strrchr(preload, '/') : NULL;

	if (!slash)
		return false;
	snprintf(folder, room, "%.*s/python", (int)(slash - preload), preload);
	snprintf(main_file, sizeof(main_file), "%s/sitecustomize.py", folder);
	return access(main_file, R_OK) == 0 && !strchr(folder, ':');
}

#define WHAT "--python-step, --python-functions-trace, --pytorch, --trace=python-gc"

static bool wants_modules(const struct profile_options *o)
{
	return o->python.steps || o->python.pytorch || python_options_functions()->cnt ||
	       o->trace & SL_TRACE_PYTHON_GC;
}

/* The functions that are to be found. NULL: no memory. */
static struct python *list_steps(const char *steps)
{
	const struct python_functions *functions = python_options_functions();
	struct python *p = python_register_new(PYTHON_STEPS_MAX + functions->cnt);
	char text[4096];

	for (const char *s = steps; p && s && *s;) {
		size_t len = strcspn(s, ",");

		python_register_add(p, s, len);
		s += len + (s[len] == ',');
	}
	for (size_t i = 0; p && i < functions->cnt; i++) {
		snprintf(text, sizeof(text), "@%s:%s", functions->at[i].module,
			 functions->at[i].name);
		python_register_add(p, text, strlen(text));
	}
	return p;
}

void python_open(struct collector *c, const char *preload)
{
	const struct profile_options *o = c->options;
	char folder[PATH_MAX];
	struct python *p;
	int err = 0;

	if (!o->trace || !(wants_modules(o) || o->trace & SL_TRACE_PYTHON_GIL))
		return;
	p = list_steps(o->python.steps);
	if (!p)
		return;
	c->arenas.python = p;
	if (!wants_modules(o))
		return;
	if (!find_folder(preload, folder, sizeof(folder))) {
		notes_say(c, WARNING, WHAT ": the modules for Python are not beside %s", preload);
		return;
	}
	err = put_file(c, folder);
	if (err) {
		notes_say(c, WARNING, WHAT ": %s", strerror(-err));
		return;
	}
	python_register_offered(p);
	/* Release: a program that reads 1 finds the file. */
	__atomic_store_n(&c->session.control->python, 1, __ATOMIC_RELEASE);
}

static void warn(void *to, const char *what, const char *text)
{
	notes_say(to, WARNING, "%s%s", what, text);
}

void python_end(struct collector *c)
{
	if (c->arenas.python && !python_register_end(c->arenas.python, warn, c))
		db_diagnostic(c->report.db, c->clocks.now, 2, INFO,
			      WHAT ": no program was a Python from 3.8 on that could be entered",
			      INT64_C(1) << 48);
}

void python_close(struct collector *c)
{
	python_register_free(c->arenas.python);
	c->arenas.python = NULL;
}

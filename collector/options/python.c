/* python.c - see python.h. */
#include "collector/options/python.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/options/cmd.h"
#include "collector/options/python_functions.h"

#define STEPS_MAX 64
#define SAID_MAX  8
#define WARNING   2
#define INFO      1

struct step {
	char *text; /* as it was given; of --python-functions-trace: @MODULE:FUNCTION */
	bool is_found;
	char *reason; /* why not, as the last process that looked put it; NULL: none looked */
};

struct python {
	struct step *step;
	size_t steps;
	char *said[SAID_MAX]; /* by the modules; each once */
	unsigned saids;
	bool is_in;    /* our modules ran in some process */
	bool is_asked; /* they were to */
};

/* Of the options that were checked last. */
static struct python_functions functions;

/* ---- options ---- */

/* Dotted names; Python's may have letters of every script. */
bool python_is_dotted(const char *text, size_t len)
{
	bool expect = true;

	for (size_t i = 0; i < len; i++) {
		unsigned char ch = (unsigned char)text[i];
		bool letter = ch == '_' || ch >= 0x80 || isalpha(ch);

		if (ch == '.' ? expect : !(letter || (!expect && isdigit(ch))))
			return false;
		expect = ch == '.';
	}
	return !expect;
}

static bool is_step(const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len), *end = text + len;
	const char *module = equals ? equals + 1 : text;
	const char *colon = memchr(module, ':', (size_t)(end - module));

	return equals != text && colon && python_is_dotted(module, (size_t)(colon - module)) &&
	       python_is_dotted(colon + 1, (size_t)(end - colon - 1));
}

int python_options_check(struct profile_options *o, const char *cmd)
{
	unsigned cnt = 0;

	for (const char *p = o->python_steps; p && *p;) {
		size_t len = strcspn(p, ",");

		if (!is_step(p, len)) {
			sl_warn("%s: option '--python-step' takes [NAME=]MODULE:FUNCTION, not "
				"'%.*s' (for example train:train_step, __main__:Trainer.step)",
				cmd, (int)len, p);
			return -SL_EXIT_USAGE;
		}
		if (++cnt > STEPS_MAX) {
			sl_warn("%s: option '--python-step' takes at most %d functions", cmd,
				STEPS_MAX);
			return -SL_EXIT_USAGE;
		}
		p += len + (p[len] == ',');
	}
	if (o->pytorch && strcmp(o->pytorch, "none") == 0)
		o->pytorch = NULL;
	python_functions_free(&functions);
	return o->python_functions ? python_functions_read(&functions, o->python_functions, cmd)
				   : 0;
}

/* ---- into the session ---- */

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
	const struct python_function *last = NULL;
	char color[16];

	if (functions.cnt)
		fprintf(f, "&functions=");
	for (size_t i = 0; i < functions.cnt; i++) {
		const struct python_function *one = &functions.at[i];

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
	/* As the control file: what root traces may become another user. */
	if (geteuid() == 0)
		fchmod(fd, 0644);
	fprintf(f, "%s:%s/", folder, folder);
	put_encoded(f, "steps", c->options->python_steps);
	put_encoded(f, "pytorch", c->options->pytorch);
	if (c->options->trace & SL_TRACE_PYTHON_GC)
		put_encoded(f, "gc", "1");
	put_functions(f);
	/* What fits into a search path: preload/python/python.c. */
	is_long = ftell(f) >= 59000;
	bad = ferror(f);
	return fclose(f) || bad ? -EIO : is_long ? -E2BIG : 0;
}

/* python/ beside libtrace.so, where both the build and the installation put it. */
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
	return o->python_steps || o->pytorch || functions.cnt || o->trace & SL_TRACE_PYTHON_GC;
}

/* What is to be found. False: no memory. */
static bool note_steps(struct python *p, const char *steps)
{
	p->step = calloc(STEPS_MAX + functions.cnt, sizeof(*p->step));
	for (const char *s = steps; p->step && s && *s;) {
		size_t len = strcspn(s, ",");

		p->step[p->steps++].text = strndup(s, len);
		s += len + (s[len] == ',');
	}
	for (size_t i = 0; p->step && i < functions.cnt; i++)
		if (asprintf(&p->step[p->steps++].text, "@%s:%s", functions.at[i].module,
			     functions.at[i].name) < 0)
			p->step[p->steps - 1].text = NULL;
	return p->step != NULL;
}

void python_open(struct collector *c, const char *preload)
{
	const struct profile_options *o = c->options;
	char folder[PATH_MAX];
	struct python *p;
	int err = 0;

	if (!o->trace || !(wants_modules(o) || o->trace & SL_TRACE_PYTHON_GIL))
		return;
	p = calloc(1, sizeof(*p));
	if (!p || !note_steps(p, o->python_steps)) {
		free(p);
		return;
	}
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
	p->is_asked = true;
	/* Release: whoever sees it finds the file. */
	__atomic_store_n(&c->session.control->python, 1, __ATOMIC_RELEASE);
}

/* ---- back from the programs ---- */

static struct step *find_step(struct python *p, const char *text, const char *end)
{
	for (size_t i = 0; i < p->steps; i++) {
		const char *have = p->step[i].text;

		if (have && strlen(have) == (size_t)(end - text) &&
		    memcmp(have, text, (size_t)(end - text)) == 0)
			return &p->step[i];
	}
	return NULL;
}

static void say_once(struct python *p, const char *text)
{
	for (unsigned i = 0; i < p->saids; i++)
		if (p->said[i] && strcmp(p->said[i], text) == 0)
			return;
	if (p->saids < SAID_MAX)
		p->said[p->saids++] = strdup(text);
}

void python_note(struct python **all, const char *text)
{
	const char *rest = strchr(text, ' '), *end;
	struct python *p = *all;
	struct step *s;

	/* What is said may be about stacks: nothing of ours need run there. */
	if (!p && strncmp(text, "say ", 4) == 0)
		p = *all = calloc(1, sizeof(*p));
	if (!p)
		return;
	if (strcmp(text, "here") == 0)
		p->is_in = true;
	if (!rest)
		return;
	rest++;
	if (strncmp(text, "say ", 4) == 0) {
		say_once(p, rest);
		return;
	}
	/* Labels may have blanks, so a tab ends what was asked for. */
	end = strchrnul(rest, '\t');
	s = find_step(p, rest, end);
	if (!s)
		return;
	if (strncmp(text, "found ", 6) == 0) {
		s->is_found = true;
	} else if (strncmp(text, "missing ", 8) == 0 && *end) {
		free(s->reason);
		s->reason = strdup(end + 1);
	}
}

static void say(struct collector *c, int severity, const char *what, const char *text)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s%s", what, text);
	if (severity == WARNING)
		notes_say(c, severity, "%s", line);
	else
		db_diagnostic(c->db, c->now, 2, severity, line, INT64_C(1) << 48);
}

static void say_missing(struct collector *c, const struct step *s)
{
	bool is_function = *s->text == '@';
	const char *module = is_function ? s->text : strchr(s->text, '='), *colon;
	char text[512];

	module = module ? module + 1 : s->text;
	colon = strchr(module, ':');
	if (s->reason)
		snprintf(text, sizeof(text), "%s", s->reason);
	else
		snprintf(text, sizeof(text), "module %.*s was never imported",
			 (int)(colon - module), module);
	say(c, WARNING, is_function ? "--python-functions-trace: " : "--python-step: ", text);
}

void python_end(struct collector *c)
{
	struct python *p = c->arenas.python;

	if (!p)
		return;
	for (unsigned i = 0; i < p->saids; i++)
		if (p->said[i])
			say(c, WARNING, "", p->said[i]);
	for (size_t i = 0; i < p->steps && p->is_in; i++)
		if (p->step[i].text && !p->step[i].is_found)
			say_missing(c, &p->step[i]);
	if (p->is_asked && !p->is_in && !p->saids)
		say(c, INFO, "",
		    WHAT ": no program was a Python from 3.8 on that could be entered");
}

void python_close(struct collector *c)
{
	struct python *p = c->arenas.python;

	for (size_t i = 0; p && i < p->steps; i++) {
		free(p->step[i].text);
		free(p->step[i].reason);
	}
	for (unsigned i = 0; p && i < p->saids; i++)
		free(p->said[i]);
	if (p)
		free(p->step);
	free(p);
	c->arenas.python = NULL;
}

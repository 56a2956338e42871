/* python.c - see python.h. */
#include "collector/python.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/cmd.h"

#define STEPS_MAX 64
#define SAID_MAX  8
#define WARNING   2
#define INFO      1

struct step {
	char *text; /* as it was given */
	bool is_found;
	char *reason; /* why not, as the last process that looked put it; NULL: none looked */
};

struct python {
	struct step step[STEPS_MAX];
	unsigned steps;
	char *said[SAID_MAX]; /* by the modules; each once */
	unsigned saids;
	bool is_in; /* our modules ran in some process */
};

/* ---- options ---- */

/* Dotted names; Python's may have letters of every script. */
static bool is_dotted(const char *text, size_t len)
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

	return equals != text && colon && is_dotted(module, (size_t)(colon - module)) &&
	       is_dotted(colon + 1, (size_t)(end - colon - 1));
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
	return 0;
}

/* ---- into the session ---- */

static void put_encoded(FILE *f, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(f, "&%s=", name);
	for (; *value; value++)
		/* Nothing that means something in a path or in a list of paths. */
		if (strchr("_,", *value) || isalnum((unsigned char)*value))
			fputc(*value, f);
		else
			fprintf(f, "%%%02X", (unsigned char)*value);
}

static int put_file(const struct collector *c, const char *folder)
{
	char path[SESSION_DIR_MAX + 16];
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
	bad = ferror(f);
	return fclose(f) || bad ? -EIO : 0;
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

void python_open(struct collector *c, const char *preload)
{
	char folder[PATH_MAX];
	struct python *p;
	int err;

	if (!c->options->trace || (!c->options->python_steps && !c->options->pytorch))
		return;
	if (!find_folder(preload, folder, sizeof(folder))) {
		notes_say(c, WARNING,
			  "--python-step, --pytorch: the modules for Python are not beside %s",
			  preload);
		return;
	}
	p = calloc(1, sizeof(*p));
	err = p ? put_file(c, folder) : -ENOMEM;
	if (err) {
		notes_say(c, WARNING, "--python-step, --pytorch: %s", strerror(-err));
		free(p);
		return;
	}
	for (const char *s = c->options->python_steps; s && *s;) {
		size_t len = strcspn(s, ",");

		p->step[p->steps++].text = strndup(s, len);
		s += len + (s[len] == ',');
	}
	c->arenas.python = p;
	/* Release: whoever sees it finds the file. */
	__atomic_store_n(&c->session.control->python, 1, __ATOMIC_RELEASE);
}

/* ---- back from the programs ---- */

static struct step *find_step(struct python *p, const char *text, const char *end)
{
	for (unsigned i = 0; i < p->steps; i++) {
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
	const char *module = strchr(s->text, '='), *colon;
	char text[512];

	module = module ? module + 1 : s->text;
	colon = strchr(module, ':');
	if (s->reason)
		snprintf(text, sizeof(text), "%s", s->reason);
	else
		snprintf(text, sizeof(text), "module %.*s was never imported",
			 (int)(colon - module), module);
	say(c, WARNING, "--python-step: ", text);
}

void python_end(struct collector *c)
{
	struct python *p = c->arenas.python;

	if (!p)
		return;
	for (unsigned i = 0; i < p->saids; i++)
		if (p->said[i])
			say(c, WARNING, "", p->said[i]);
	for (unsigned i = 0; i < p->steps && p->is_in; i++)
		if (p->step[i].text && !p->step[i].is_found)
			say_missing(c, &p->step[i]);
	if (!p->is_in && !p->saids)
		say(c, INFO, "",
		    "--python-step, --pytorch: no program was a Python from 3.8 on that could be "
		    "entered");
}

void python_close(struct collector *c)
{
	struct python *p = c->arenas.python;

	for (unsigned i = 0; p && i < p->steps; i++) {
		free(p->step[i].text);
		free(p->step[i].reason);
	}
	for (unsigned i = 0; p && i < p->saids; i++)
		free(p->said[i]);
	free(p);
	c->arenas.python = NULL;
}

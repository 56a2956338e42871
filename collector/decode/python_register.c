/* python_register.c - keeps, for each function of a Python step or range, whether a program has found it. */
#include "collector/decode/python_register.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMARKS_MAX 8

struct step {
	char *text; /* as given; of --python-functions-trace: @MODULE:FUNCTION */
	bool is_found;
	char *reason; /* why not, by the process that looked last; NULL: no process looked */
};

struct python {
	struct step *step;
	size_t steps, cap;
	char *remark[REMARKS_MAX]; /* messages of the modules, without repetitions */
	unsigned remarks;
	bool is_offered; /* programs can import Sightline's modules */
	bool is_in;      /* and a process did */
};

struct python *python_register_new(size_t steps)
{
	struct python *p = calloc(1, sizeof(*p));

	if (p)
		p->step = calloc(steps + 1, sizeof(*p->step));
	if (p && !p->step) {
		free(p);
		return NULL;
	}
	if (p)
		p->cap = steps;
	return p;
}

void python_register_add(struct python *p, const char *text, size_t len)
{
	if (p->steps < p->cap)
		p->step[p->steps++].text = strndup(text, len);
}

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

static void add_remark(struct python *p, const char *text)
{
	for (unsigned i = 0; i < p->remarks; i++)
		if (p->remark[i] && strcmp(p->remark[i], text) == 0)
			return;
	if (p->remarks < REMARKS_MAX)
		p->remark[p->remarks++] = strdup(text);
}

void python_note(struct python **all, const char *text)
{
	const char *rest = strchr(text, ' '), *end;
	struct python *p = *all;
	struct step *s;

	/* Messages about stacks come from programs without these modules, too. */
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
		add_remark(p, rest);
		return;
	}
	/* A label may have blanks: the text ends at a tab. */
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

void python_register_offered(struct python *p)
{
	p->is_offered = true;
}

static void report_missing(const struct step *s, python_remark_fn *emit, void *to)
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
	emit(to, is_function ? "--python-functions-trace: " : "--python-step: ", text);
}

bool python_register_end(const struct python *p, python_remark_fn *emit, void *to)
{
	for (unsigned i = 0; i < p->remarks; i++)
		if (p->remark[i])
			emit(to, "", p->remark[i]);
	for (size_t i = 0; i < p->steps && p->is_in; i++)
		if (p->step[i].text && !p->step[i].is_found)
			report_missing(&p->step[i], emit, to);
	return !p->is_offered || p->is_in || p->remarks;
}

void python_register_free(struct python *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->steps; i++) {
		free(p->step[i].text);
		free(p->step[i].reason);
	}
	for (unsigned i = 0; i < p->remarks; i++)
		free(p->remark[i]);
	free(p->step);
	free(p);
}

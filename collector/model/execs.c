/* execs.c - execs whose images have no row yet. */
#include "collector/model/execs.h"

#include <stdlib.h>

void execs_add(struct proc *p, int64_t ns, char *exe, char *command)
{
	struct exec **at = &p->execs, *e;

	while (*at && (*at)->ns < ns)
		at = &(*at)->next;
	e = *at && (*at)->ns == ns ? *at : calloc(1, sizeof(*e));
	if (!e)
		abort(); /* as model_add() */
	if (e != *at) {
		e->next = *at;
		*at = e;
	}
	free(e->exe);
	free(e->command);
	e->ns = ns;
	e->exe = exe;
	e->command = command;
}

bool execs_are_before(const struct proc *p, int64_t ns, unsigned cnt)
{
	for (const struct exec *e = p->execs; e && e->ns <= ns; e = e->next)
		if (!--cnt)
			return true;
	return false;
}

struct exec *execs_take(struct proc *p)
{
	struct exec *e = p->execs;

	p->execs = e->next;
	return e;
}

void exec_free(struct exec *e)
{
	if (!e)
		return;
	free(e->exe);
	free(e->command);
	free(e);
}

void execs_forget(struct proc *p)
{
	while (p->execs)
		exec_free(execs_take(p));
}

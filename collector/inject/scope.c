/* scope.c - the gap between what the kernel allows its users and what Yama does. */
#include "collector/inject/scope.h"

#include <stdio.h>

static int scope_of(const char *file)
{
	FILE *f = fopen(file, "re");
	int scope = 0;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	return scope;
}

void scope_explain(const char *file, pid_t pid, char *why, size_t why_len)
{
	int scope = scope_of(file);

	if (scope >= 3)
		snprintf(why, why_len,
			 "not permitted: kernel.yama.ptrace_scope is %d, which forbids it to all "
			 "until the next boot: start process %d under 'sightline profile'",
			 scope, (int)pid);
	else if (scope > 0)
		snprintf(why, why_len, "not permitted: kernel.yama.ptrace_scope is %d: use sudo%s",
			 scope, scope == 1 ? ", or 'sudo sysctl kernel.yama.ptrace_scope=0'" : "");
	else
		snprintf(why, why_len,
			 "not permitted: process %d is another user's, or has changed its user: "
			 "use sudo",
			 (int)pid);
}

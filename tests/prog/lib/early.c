/*
 * early.c - asks for variables while the loader is still at work: in the resolver of an indirect function, when libraries
 * loaded before it have not been relocated yet. Prints at start what it found.
 */
#include <stdio.h>
#include <stdlib.h>

int early_value(void);

static int set(void)
{
	return 1;
}

static int unset(void)
{
	return 0;
}

static int wrong(void)
{
	return -1;
}

static int (*resolve(void))(void)
{
	const char *v = getenv("EARLY");

	if (getenv("EARL") || getenv("EARLY_"))
		return wrong;
	return !v ? unset : v[0] == 'y' && !v[1] ? set : wrong;
}
int early_value(void) __attribute__((ifunc("resolve")));

__attribute__((constructor)) static void say(void)
{
	fprintf(stderr, "early %d\n", early_value());
}

/*
 * embed.c - a Python that comes late and goes: opens libpython, runs the arguments in it, closes it and goes on. Prints
 * whether it is gone then.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	/* Modules need not be linked with it: they find it here. */
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	int (*main_of)(int, char **);
	char home[4096];
	int rc;

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	/* PREFIX/lib/libpython3.x.so.1.0 */
	snprintf(home, sizeof(home), "%s", argv[1]);
	for (int i = 0; i < 2; i++)
		*strrchr(home, '/') = 0;
	setenv("PYTHONHOME", home, 1);
	main_of = (int (*)(int, char **))dlsym(lib, "Py_BytesMain");
	rc = main_of ? main_of(argc - 1, argv + 1) : 1;
	dlclose(lib);
	open("/probe/closed", O_RDONLY);
	puts(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) ? "still there" : "gone");
	return rc;
}

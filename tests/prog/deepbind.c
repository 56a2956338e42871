/* deepbind.c LIBRARY - loads a library with RTLD_DEEPBIND, which then does I/O of its own. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *h = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_DEEPBIND);
	int (*work)(const char *);

	if (!h) {
		puts(dlerror());
		return 1;
	}
	*(void **)&work = dlsym(h, "plugin_work");
	printf("plugin read %d\n", work("/etc/passwd"));
	dlclose(h);
	return 0;
}

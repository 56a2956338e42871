/* plugin.c - a library for deepbind.c. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int plugin_work(const char *path);

int plugin_work(const char *path)
{
	char *buf = malloc(50);
	int fd = open(path, O_RDONLY), n = (int)read(fd, buf, 50);

	close(fd);
	free(buf);
	return n;
}

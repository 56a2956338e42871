/*
 * file_calls.c - opens, reads and writes files by the kernel's calls and by stdio, on descriptors of their own and on one, and
 * prints how often: "data" and "copy", opens, reads, bytes, writes, bytes, interface.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct sum {
	long opens, reads, got, writes, put;
};

static void print(const char *name, const struct sum *s, const char *interface)
{
	printf("%s %ld %ld %ld %ld %ld %s\n", name, s->opens, s->reads, s->got, s->writes, s->put,
	       interface);
}

static void read_file(const char *path, struct sum *kernel, struct sum *stream)
{
	char buf[64];

	for (int i = 0; i < 1001; i++) {
		int fd = open(path, O_RDONLY);

		kernel->opens += fd >= 0;
		if (i % 3 == 0) {
			kernel->got += read(fd, buf, (size_t)(i % 7));
			kernel->reads++;
		}
		close(fd);
	}
	for (int i = 0; i < 37; i++) {
		FILE *f = fopen(path, "r");

		stream->opens += f != NULL;
		if (!f)
			return;
		for (int k = 0; k < 50; k++) {
			stream->got += (long)fread(buf, 1, 11, f);
			stream->reads++;
		}
		for (int k = 0; k < 20; k++) {
			stream->got += getc(f) != EOF;
			stream->reads++;
		}
		/* Both ways, turn about. */
		kernel->got += read(fileno(f), buf, 5);
		kernel->reads++;
		fclose(f);
	}
}

static void write_file(const char *path, struct sum *kernel, struct sum *stream)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	FILE *f = fopen(path, "a");

	kernel->opens += fd >= 0;
	stream->opens += f != NULL;
	if (!f)
		return;
	for (int i = 0; i < 100; i++) {
		kernel->put += write(fd, "abc", 3);
		kernel->writes++;
		stream->put += fprintf(f, "%d\n", i);
		stream->put += (long)fwrite("xy", 1, 2, f);
		stream->put += fputc('z', f) != EOF;
		stream->writes += 3;
	}
	fclose(f);
	close(fd);
}

int main(int argc, char **argv)
{
	struct sum kernel = {0}, stream = {0}, kernel_out = {0}, stream_out = {0};

	if (argc < 3)
		return 2;
	read_file(argv[1], &kernel, &stream);
	write_file(argv[2], &kernel_out, &stream_out);
	print("data", &kernel, "POSIX");
	print("data", &stream, "STDIO");
	print("copy", &kernel_out, "POSIX");
	print("copy", &stream_out, "STDIO");
	return 0;
}

/* truth_stdio.c - streams: what was called on them, with the bytes that went through the call. */
#include <wchar.h>

#include "tests/prog/truth.h"

static volatile size_t n7 = 7, n100 = 100, n4096 = 4096;
static volatile int n64 = 64;
static char buf[8192];

/* Streams are noted by descriptor; the library sees the pointer. Freads return items. */
static FILE *open_stream(const char *path, const char *mode)
{
	FILE *f = fopen(path, mode);

	note_err("fopen", f ? (long)f : 0, f ? 0 : errno, f ? fileno(f) : NIL, NIL, NIL, path);
	return f;
}

static void close_stream(FILE *f, const char *path)
{
	int fd = fileno(f);

	note("fclose", fclose(f), fd, NIL, NIL, path);
}

static void writing(const char *a)
{
	FILE *f = open_stream(a, "w+");
	int fd = fileno(f);

	note("fwrite", (long)fwrite(buf, 1, n100, f), fd, 100, NIL, a);
	note("fwrite", (long)fwrite(buf, 10, n7, f), fd, 70, NIL, a);
	note("fputs", fputs("line one\n", f), fd, 9, NIL, a);
	note("+fputc", fputc('x', f), fd, 1, NIL, a);
	note("+putc", putc('\n', f), fd, 1, NIL, a);
	note("fprintf", fprintf(f, "%d-%s\n", n64, "formatted"), fd, ANY, NIL, a);
	note("fflush", fflush(f), fd, ANY, NIL, a);
	for (int i = 0; i < 100; i++)
		note("fwrite", (long)fwrite(buf, 1, n4096, f), fd, 4096, NIL, a);
	note("fseek", fseek(f, 0, SEEK_SET), fd, ANY, ANY, a);
	note("fread", (long)fread(buf, 1, n100, f), fd, 100, NIL, a);
	note("fread", (long)fread(buf, 10, n7, f), fd, 70, NIL, a);
	if (ftell(f) < 0)
		raw_puts(2, "ftell is wrong\n");
	close_stream(f, a);
}

static void lines(const char *a)
{
	char *line = NULL;
	size_t size = 0;
	FILE *f = open_stream(a, "w");
	int fd = fileno(f);

	for (int i = 0; i < 5; i++)
		note("fputs", fputs("a line of text\n", f), fd, 15, NIL, a);
	close_stream(f, a);
	f = open_stream(a, "r");
	fd = fileno(f);
	note_err("fgets", (long)fgets(buf, n64, f), 0, fd, 64, NIL, a);
	/* The headers make __getdelim of it. */
	note("getdelim", getline(&line, &size, f), fd, ANY, NIL, a);
	note("getdelim", getdelim(&line, &size, ' ', f), fd, ANY, NIL, a);
	note_err("+fgetc", fgetc(f), 0, fd, 1, NIL, a);
	note_err("+getc", getc(f), 0, fd, 1, NIL, a);
	ungetc('z', f);
	note("fread", (long)fread(buf, 1, n4096, f), fd, 4096, NIL, a);
	note_err("fgets", (long)fgets(buf, n64, f), 0, fd, 64, NIL, a);
	close_stream(f, a);
	free(line);
}

static void others(const char *a)
{
	const char *b = in_cwd("other");
	int fd = raw_open(a, O_RDWR, 0);
	FILE *f = fdopen(fd, "r+");
	char *mem = NULL;
	size_t len;

	note_err("fdopen", (long)f, 0, fd, NIL, NIL, a);
	note("fread", (long)fread(buf, 1, n7, f), fd, 7, NIL, a);
	f = freopen(b, "w", f);
	fd = fileno(f);
	note_err("freopen", (long)f, 0, fd, NIL, NIL, b);
	note("fwrite", (long)fwrite(buf, 1, n7, f), fd, 7, NIL, b);
	close_stream(f, b);
	f = fopen("/nonexistent/x", "r");
	note_err("fopen", 0, errno, NIL, NIL, NIL, "/nonexistent/x");
	f = open_memstream(&mem, &len);
	note("fwrite", (long)fwrite(buf, 1, n7, f), ANY, 7, NIL, NOPATH);
	/* Floating point numbers are in registers of their own. */
	note("fprintf", fprintf(f, "%.2f %g", n64 / 4.0 + 0.25, n7 / 2.0), ANY, ANY, NIL, NOPATH);
	note("fclose", fclose(f), ANY, NIL, NIL, NOPATH);
	if (strcmp(mem + 7, "16.25 3.5") != 0)
		raw_puts(2, "fprintf is wrong\n");
	free(mem);
	note("puts", puts("to standard output"), 1, 19, NIL, ANYPATH);
	note("printf", printf("%d\n", n64), 1, ANY, NIL, ANYPATH);
	/* Likewise putc. */
	note("+putc", putchar('c'), 1, 1, NIL, ANYPATH);
	note("fflush", fflush(stdout), 1, ANY, NIL, ANYPATH);
	note("fflush", fflush(NULL), NIL, ANY, NIL, NOPATH);
}

int main(void)
{
	const char *a = in_cwd("stdio");

	writing(a);
	lines(a);
	others(a);
	truth_write();
	return 0;
}

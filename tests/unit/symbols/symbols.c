/*
 * symbols.c - functions, files and lines: exactly those that tests/prog/symbols.cc prints of itself, with debug
 * information in every place where it can be; and what cannot be known is not made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#if SL_HAVE_LIBDW
#include <elfutils/version.h>
#endif

#include "collector/symbols/symbols_internal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SL_HAVE_LIBDW
#define SL_HAVE_LIBDW 0
#endif
#define PLACES 64
#define ROOM   16

static char dir[64], prog[512], source[PATH_MAX];
static struct truth {
	uint64_t at;
	char chain[256];
} truth[PLACES];
static unsigned truths;

/* ---- what to look at ---- */

__attribute__((format(printf, 1, 2))) static int sh(const char *format, ...)
{
	char command[2048];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	return system(command);
}

static char *in_dir(const char *name)
{
	static char path[4][256];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static int ask_program(const char *path)
{
	char line[512];
	FILE *f = popen(path, "re");

	truths = 0;
	while (f && truths < PLACES && fgets(line, sizeof(line), f)) {
		struct truth *t = &truth[truths++];
		char *end;

		line[strcspn(line, "\n")] = 0;
		t->at = strtoull(line, &end, 16);
		snprintf(t->chain, sizeof(t->chain), "%s", end + 1);
	}
	return f && pclose(f) == 0 && truths > 10 ? 0 : -1;
}

static int setup(void **state)
{
	char self[400];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	if (len < 0)
		return -1;
	self[len] = 0;
	snprintf(prog, sizeof(prog), "%.*s/../prog/symbols", (int)(strrchr(self, '/') - self),
		 self);
	/* Tests run where the tree begins. */
	if (!realpath("tests/prog/symbols.cc", source))
		source[0] = 0;
	snprintf(dir, sizeof(dir), "/tmp/sl-symbols-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	return ask_program(prog);
}

static int teardown(void **state)
{
	(void)state;
	return sh("rm -rf '%s'", dir);
}

/* ---- what is found ---- */

enum want {
	ALL,
	NAMES_ONLY, /* of the function that is there as such, without its place */
};

static const char *base(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/* "function:line|function:line"; files must be shapes.cc, in the folder where it was compiled. */
static const char *chain_at(struct symbols *s, struct symbols_module *m, uint64_t at)
{
	static char text[1024];
	struct symbols_frame frame[ROOM];
	size_t cnt = symbols_at(s, m, at, frame, ROOM), len = 0;

	text[0] = 0;
	for (size_t i = 0; i < cnt; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? "|" : "",
					frame[i].function ? frame[i].function : "?");
		if (frame[i].line)
			len += (size_t)snprintf(text + len, sizeof(text) - len, ":%d",
						frame[i].line);
		if (frame[i].file) {
			assert_string_equal(base(frame[i].file), "shapes.cc");
			assert_int_equal(frame[i].file[0], '/');
		}
		assert_int_equal(frame[i].is_inlined, i + 1 < cnt);
	}
	return text;
}

static void check_with(const char *path, const uint8_t *id, size_t id_len, enum want want)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m = symbols_module(s, path, id, id_len);

	for (int round = 0; round < 2; round++) /* as it is found, and as it was kept */
		for (unsigned i = 0; i < truths; i++) {
			char expected[256];

			snprintf(expected, sizeof(expected), "%s", truth[i].chain);
			if (want == NAMES_ONLY) {
				char *last = strrchr(expected, '|');

				last = last ? last + 1 : expected;
				*strrchr(last, ':') = 0;
				memmove(expected, last, strlen(last) + 1);
			}
			if (strstr(chain_at(s, m, truth[i].at), "::$_0::")) {
				/* clang numbers what has no name */
				assert_non_null(strstr(expected, "{lambda(int)#1}"));
				continue;
			}
			assert_string_equal(chain_at(s, m, truth[i].at), expected);
		}
	symbols_close(s);
}

static void check(const char *path, enum want want)
{
#if !SL_HAVE_LIBDW
	want = NAMES_ONLY;
#endif
	check_with(path, NULL, 0, want);
}

static void check_nothing(const char *path, const uint8_t *id, size_t id_len)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m = symbols_module(s, path, id, id_len);
	struct symbols_frame frame[ROOM];

	for (unsigned i = 0; i < truths; i++)
		assert_int_equal(symbols_at(s, m, truth[i].at, frame, ROOM), 0);
	symbols_close(s);
}

static size_t build_id_of(const char *path, uint8_t *id)
{
	struct elf_image e;
	struct elf_part part;
	size_t len;

	assert_true(elf_image_open(&e, path));
	part = elf_image_build_id(&e);
	len = part.size;
	assert_true(len > 0 && len <= 64);
	memcpy(id, part.at, len);
	elf_image_close(&e);
	return len;
}

static void functions_files_and_lines_are_exact(void **state)
{
	uint8_t id[64];
	size_t len = build_id_of(prog, id);

	(void)state;
	check(prog, ALL);
	check_with(prog, id, len, SL_HAVE_LIBDW ? ALL : NAMES_ONLY);
}

/* Little room: the functions that are there as such come before those that were inlined. */
static void little_room_is_for_the_outermost(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_module *m = symbols_module(s, prog, NULL, 0);
	struct symbols_frame frame[ROOM];

	(void)state;
	assert_int_equal(symbols_at(s, m, truth[0].at, frame, 1), 1);
	assert_string_equal(frame[0].function, "geo::outer");
	assert_false(frame[0].is_inlined);
	symbols_close(s);
}

/* What was split off is found by its name beside the file, in .debug, and not when it is another one. */
static void debug_information_may_be_in_another_file(void **state)
{
	(void)state;
	assert_int_equal(sh("cd %s && objcopy --only-keep-debug %s p.debug && strip -o p %s && "
			    "objcopy --add-gnu-debuglink=p.debug p",
			    dir, prog, prog),
			 0);
	check(in_dir("p"), ALL);
	assert_int_equal(sh("cd %s && mkdir -p .debug && mv p.debug .debug", dir), 0);
	check(in_dir("p"), ALL);
	/* Without build ids its checksum shows whether it is the right one. */
	assert_int_equal(sh("cd %s && objcopy -R .note.gnu.build-id %s q0 && objcopy "
			    "--only-keep-debug q0 q.debug 2>/dev/null && strip -o q q0 && objcopy "
			    "--add-gnu-debuglink=q.debug q",
			    dir, prog),
			 0);
	check(in_dir("q"), ALL);
	assert_int_equal(sh("cd %s && printf x >>q.debug", dir), 0);
	check_nothing(in_dir("q"), NULL, 0);
	/* Another build. */
	assert_int_equal(sh("cd %s && objcopy --only-keep-debug /proc/%d/exe .debug/p.debug", dir,
			    (int)getpid()),
			 0);
	check_nothing(in_dir("p"), NULL, 0);
}

static void sections_may_be_compressed(void **state)
{
	(void)state;
	assert_int_equal(sh("objcopy --compress-debug-sections=zlib %s %s", prog, in_dir("z")), 0);
	check(in_dir("z"), ALL);
	assert_int_equal(sh("objcopy --compress-debug-sections=zlib-gnu %s %s", prog, in_dir("zg")),
			 0);
	check(in_dir("zg"), ALL);
#if defined(_ELFUTILS_PREREQ) && \
	_ELFUTILS_PREREQ(0, 189) /* before, libdw has no zstd: names from the symbol table */
	if (sh("objcopy --compress-debug-sections=zstd %s %s 2>/dev/null", prog, in_dir("zs")) == 0)
		check(in_dir("zs"), ALL);
#endif
}

static void without_debug_information_there_are_names(void **state)
{
	(void)state;
	assert_int_equal(sh("strip -g -o %s %s", in_dir("names"), prog), 0);
	check(in_dir("names"), NAMES_ONLY);
}

/* The exported symbols of a stripped file name nothing that lies between. */
static void without_symbols_nothing_is_made_up(void **state)
{
	(void)state;
	assert_int_equal(sh("strip -o %s %s", in_dir("bare"), prog), 0);
	check_nothing(in_dir("bare"), NULL, 0);
}

static void a_small_table_may_be_packed(void **state)
{
	(void)state;
#if SL_HAVE_LZMA
	if (sh("command -v xz >/dev/null") != 0)
		skip();
	assert_int_equal(
		sh("cd %s && strip -o m %s && strip -g -o mini %s && xz -kf mini && objcopy "
		   "--add-section .gnu_debugdata=mini.xz m",
		   dir, prog, prog),
		0);
	check(in_dir("m"), NAMES_ONLY);
#else
	skip();
#endif
}

static void another_file_of_that_name_gives_no_names(void **state)
{
	uint8_t id[64];
	size_t len = build_id_of(prog, id);
	char gone[600];

	(void)state;
	id[0] ^= 1;
	check_nothing(prog, id, len);
	check_nothing("/nowhere/at/all", id, len);
	check_nothing("/dev/null", NULL, 0);
	check_nothing("/proc/self/maps", NULL, 0);
	check_nothing(dir, NULL, 0);
	check_nothing("[heap]", NULL, 0);
	/* Deleted, and something else there: only a build id can say that it is the same again. */
	snprintf(gone, sizeof(gone), "%s (deleted)", prog);
	check_nothing(gone, NULL, 0);
	id[0] ^= 1;
	check_with(gone, id, len, SL_HAVE_LIBDW ? ALL : NAMES_ONLY);
}

static void put_script(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "we");

	fprintf(f, "#!/bin/sh\n%s\n", text);
	fclose(f);
	chmod(in_dir(name), 0755);
}

/* A server is asked by a program, which a stand-in takes the place of here; it may be slow, silent or lie. */
static void a_server_may_have_it(void **state)
{
	char *old_path = strdup(getenv("PATH")), path[PATH_MAX], script[512];

	(void)state;
	assert_int_equal(sh("cd %s && rm -rf .debug && objcopy --only-keep-debug %s served && "
			    "strip -o s %s && objcopy --only-keep-debug /proc/%d/exe wrong",
			    dir, prog, prog, (int)getpid()),
			 0);
	snprintf(path, sizeof(path), "%s:%s", dir, old_path);
	setenv("PATH", path, 1);
	setenv("DEBUGINFOD_CACHE_PATH", in_dir("no-cache"), 1);
	snprintf(script, sizeof(script), "[ \"$1\" = debuginfo ] && echo %s/served", dir);
	put_script("debuginfod-find", script);
	unsetenv("DEBUGINFOD_URLS");
	check_nothing(in_dir("s"), NULL, 0);
	setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
	check(in_dir("s"), ALL);
	snprintf(script, sizeof(script), "echo %s/wrong", dir);
	put_script("debuginfod-find", script);
	check_nothing(in_dir("s"), NULL, 0);
	put_script("debuginfod-find", "exit 1");
	check_nothing(in_dir("s"), NULL, 0);
	put_script("debuginfod-find", "exec sleep 1000");
	symbols_debuginfod_ms = 100;
	check_nothing(in_dir("s"), NULL, 0);
	/* What was fetched before needs no server. */
	setenv("DEBUGINFOD_CACHE_PATH", in_dir("cache"), 1);
	assert_int_equal(sh("cd %s && id=$(readelf -n s | sed -n 's/.*Build ID: //p') && "
			    "mkdir -p cache/$id && cp served cache/$id/debuginfo",
			    dir),
			 0);
	check(in_dir("s"), ALL);
	unsetenv("DEBUGINFOD_URLS");
	setenv("PATH", old_path, 1);
	free(old_path);
}

/* The program is built again while it is symbolized. */
static void a_file_may_shrink_meanwhile(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_frame frame[ROOM];
	struct symbols_module *m;

	(void)state;
	assert_int_equal(sh("cp %s %s", prog, in_dir("shrinks")), 0);
	m = symbols_module(s, in_dir("shrinks"), NULL, 0);
	assert_true(symbols_at(s, m, truth[0].at, frame, ROOM) > 0);
	assert_int_equal(truncate(in_dir("shrinks"), 0), 0);
	for (unsigned i = 1; i < truths; i++)
		assert_true(symbols_at(s, m, truth[i].at, frame, ROOM) <= ROOM);
	assert_true(symbols_at(s, symbols_module(s, prog, NULL, 0), truth[1].at, frame, ROOM) > 0);
	symbols_close(s);
}

/* The same program by other compilers and other versions of DWARF. */
static void every_form_of_debug_information_will_do(void **state)
{
	static const char *const ways[] = {
		"g++ -O2 -gdwarf-4",
		"g++ -O2 -gdwarf-5 -fdebug-types-section",
		"g++ -O0 -g",
		"g++ -O3 -g -flto -ffat-lto-objects",
		"g++ -O2 -g -ffunction-sections -Wl,--gc-sections",
		"clang++ -O2 -g -fno-optimize-sibling-calls",
	};
	int tried = 0;

	(void)state;
#if SL_HAVE_LIBDW
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char *path = in_dir("way");

		if (sh("cd %s && cp %s . && %s -c symbols.cc 2>/dev/null && "
		       "%s -o way symbols.o 2>/dev/null",
		       dir, source, ways[i], ways[i]) != 0)
			continue;
		assert_int_equal(ask_program(path), 0);
		check(path, ALL);
		tried++;
	}
	assert_int_equal(ask_program(prog), 0);
	if (!tried)
		skip();
#else
	(void)ways;
	(void)tried;
	skip();
#endif
}

/*
 * Debug information names files, which may be FIFOs: their open would not end. What libdw would open by itself (.dwo) is left
 * out, dwz's file is only read where it is a plain file.
 */
static void files_that_debug_information_names_are_looked_at_first(void **state)
{
	static const char *const ways[] = {"-gsplit-dwarf -gdwarf-5", "-gsplit-dwarf -gdwarf-4"};
	int tried = 0;

	(void)state;
	alarm(120);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (sh("cd %s && rm -f *.dwo && cp %s symbols.cc && g++ -O2 %s -c symbols.cc "
		       "2>/dev/null && "
		       "g++ -o fission symbols.o 2>/dev/null && rm symbols.dwo && mkfifo "
		       "symbols.dwo",
		       dir, source, ways[i]) != 0)
			continue;
		assert_int_equal(ask_program(in_dir("fission")), 0);
		check(in_dir("fission"), NAMES_ONLY);
		tried++;
	}
	if (sh("cd %s && cp %s symbols.cc && g++ -O2 -g -o one symbols.cc && cp one two && "
	       "dwz -m common one two 2>/dev/null && readelf -S one | grep -q gnu_debugaltlink",
	       dir, source) == 0) {
		assert_int_equal(ask_program(in_dir("one")), 0);
		check(in_dir("one"), ALL);
		assert_int_equal(sh("cd %s && rm common && mkfifo common", dir), 0);
		check(in_dir("one"), NAMES_ONLY);
		tried++;
	}
	alarm(0);
	assert_int_equal(ask_program(prog), 0);
	if (!tried)
		skip();
}

/* 3,000 functions that all name one list of 3,000 ranges: a file of some kilobytes, and half a gigabyte of functions. */
static void debug_information_that_repeats_itself_takes_bounded_memory(void **state)
{
	static const char text[] =
		".text\n.globl main\nmain: xorl %eax, %eax\n ret\n .zero 8192\n"
		".section .debug_abbrev,\"\",@progbits\n"
		".byte 1,0x11,1, 0x11,1, 0x55,0x17, 0,0, 2,0x2e,0, 0x55,0x17, 0,0, 0\n"
		".section .debug_ranges,\"\",@progbits\n.rept 3000\n .quad 0, 8192\n.endr\n .quad "
		"0, 0\n"
		".section .debug_info,\"\",@progbits\n.long 2f - 1f\n1: .short 4\n .long "
		".debug_abbrev\n .byte 8\n"
		".byte 1\n .quad main\n .long .debug_ranges\n.rept 3000\n .byte 2\n .long "
		".debug_ranges\n.endr\n .byte 0\n2:\n";
	struct symbols_frame frame[ROOM];
	struct rusage before, after;
	struct symbols *s;
	FILE *f;

	(void)state;
#if SL_HAVE_LIBDW && defined(__x86_64__)
	f = fopen(in_dir("repeats.s"), "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	if (sh("cd %s && gcc -no-pie -o repeats repeats.s 2>/dev/null", dir) != 0)
		skip();
	s = symbols_open();
	getrusage(RUSAGE_SELF, &before);
	for (uint64_t at = 0; at < 4096; at += 256)
		symbols_at(s, symbols_module(s, in_dir("repeats"), NULL, 0), 0x401000 + at, frame,
			   ROOM);
	getrusage(RUSAGE_SELF, &after);
	symbols_close(s);
	assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 200 << 10);
#else
	(void)text, (void)frame, (void)before, (void)after, (void)s, (void)f;
	skip();
#endif
}

/* .debug_aranges may be missing, or list other units than the one that is asked for. */
static void the_list_of_units_may_have_gaps(void **state)
{
	(void)state;
#if SL_HAVE_LIBDW
	assert_int_equal(sh("objcopy -R .debug_aranges %s %s", prog, in_dir("unlisted")), 0);
	check(in_dir("unlisted"), ALL);
	if (sh("cd %s && cp %s . && g++ -O2 -g -c symbols.cc 2>/dev/null", dir, source) != 0)
		skip();
	assert_int_equal(sh("cd %s && objcopy -R .debug_aranges symbols.o && "
			    "echo 'int other() { return 1; }' >other.cc && g++ -g -c other.cc && "
			    "g++ -o gaps symbols.o other.o",
			    dir),
			 0);
	assert_int_equal(ask_program(in_dir("gaps")), 0);
	check(in_dir("gaps"), ALL);
	assert_int_equal(ask_program(prog), 0);
#else
	skip();
#endif
}

/* Files that are no ELF files any more, or hardly: whatever comes out, it comes out. */
static void damage_does_no_harm(void **state)
{
	struct stat st;
	uint8_t *image;
	uint32_t random = 12345;
	int fd = open(prog, O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	image = malloc((size_t)st.st_size);
	for (int round = 0; round < 150; round++) {
		struct symbols_frame frame[ROOM];
		struct symbols *s = symbols_open();
		struct symbols_module *m = symbols_module(s, in_dir("damaged"), NULL, 0);
		off_t len = st.st_size;
		FILE *f;

		assert_int_equal(pread(fd, image, (size_t)st.st_size, 0), st.st_size);
		for (int i = 0; i < 1 << round % 10; i++) {
			random = random * 1664525 + 1013904223;
			/* Everywhere; in the header; in the sections' headers. */
			if (round % 3 == 1)
				image[(random >> 4) % 64] = (uint8_t)(random >> 24);
			else if (round % 3 == 2)
				image[st.st_size - 1 - (random >> 4) % 3000] =
					(uint8_t)(random >> 24);
			else
				image[(random >> 4) % (uint32_t)st.st_size] =
					(uint8_t)(random >> 24);
		}
		if (round % 7 == 0)
			len = (off_t)((random >> 4) % (uint32_t)st.st_size);
		f = fopen(in_dir("damaged"), "we");
		assert_int_equal(fwrite(image, 1, (size_t)len, f), len);
		fclose(f);
		for (unsigned i = 0; i < truths; i++)
			assert_true(symbols_at(s, m, truth[i].at, frame, ROOM) <= ROOM);
		symbols_close(s);
	}
	free(image);
	close(fd);
}

/* ---- what has no file of its own ---- */

static bool take_symbol(void *to, const struct elf_symbol *s)
{
	if (!strstr(s->name, "clock_gettime") && !strstr(s->name, "kernel_clock"))
		return true;
	*(struct elf_symbol *)to = *s;
	return false;
}

static void the_vdso_is_our_own(void **state)
{
	const uint8_t wrong[20] = {0};
	struct elf_symbol found = {0};
	struct symbols_frame frame[ROOM];
	struct symbols_file f;
	struct symbols *s = symbols_open();
	struct symbols_server none = {0};

	(void)state;
	symbols_file_open(&f, "[vdso]", -1, NULL, 0, &none);
	if (!f.image.at)
		skip();
	elf_image_symbols(&f.image, SHT_DYNSYM, take_symbol, &found);
	assert_non_null(found.name);
	assert_int_equal(
		symbols_at(s, symbols_module(s, "[vdso]", NULL, 0), found.at + 1, frame, ROOM), 1);
	assert_non_null(strstr(frame[0].function, "clock_gettime"));
	assert_int_equal(symbols_at(s, symbols_module(s, "[vdso]", wrong, sizeof(wrong)),
				    found.at + 1, frame, ROOM),
			 0);
	symbols_close(s);
	symbols_file_close(&f);
}

static void the_loop_of_the_interpreter_is_known(void **state)
{
	(void)state;
	assert_true(symbols_is_interpreter("_PyEval_EvalFrameDefault"));
	assert_true(symbols_is_interpreter("_PyEval_EvalFrameDefault.cold"));
	assert_true(symbols_is_interpreter("_PyEval_EvalFrameDefault.constprop.0"));
	assert_true(symbols_is_interpreter("_TAIL_CALL_CALL_FUNCTION_EX"));
	assert_false(symbols_is_interpreter("_PyEval_EvalFrameDefaultly"));
	assert_false(symbols_is_interpreter("_PyEval_Vector"));
	assert_false(symbols_is_interpreter(""));
}

/* The part that the compiler has put apart, where only what it exports has a name. */
static void the_loop_may_be_in_two_parts(void **state)
{
	struct symbols *s = symbols_open();
	struct symbols_frame frame[ROOM];
	char line[512], lib[600], *end;
	struct symbols_module *m;
	uint64_t apart = 0, at;
	FILE *nm;

	(void)state;
	snprintf(lib, sizeof(lib), "%.*s/lib/loop_apart.so", (int)(strrchr(prog, '/') - prog),
		 prog);
	snprintf(line, sizeof(line), "nm '%.480s'", lib);
	nm = popen(line, "re");
	while (nm && fgets(line, sizeof(line), nm)) {
		at = strtoull(line, &end, 16);
		if (strcmp(end, " t _PyEval_EvalFrameDefault.cold\n") == 0)
			apart = at;
	}
	if (nm)
		pclose(nm);
	if (!apart) { /* another compiler's */
		symbols_close(s);
		skip();
	}
	assert_int_equal(sh("strip -o %s %s", in_dir("loop.so"), lib), 0);
	m = symbols_module(s, in_dir("loop.so"), NULL, 0);
	for (at = apart; at < apart + 16; at += 8) {
		assert_int_equal(symbols_at(s, m, at, frame, ROOM), 1);
		assert_true(frame->is_interpreter);
		assert_string_equal(frame->function, "_PyEval_EvalFrameDefault");
	}
	symbols_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_files_and_lines_are_exact),
		cmocka_unit_test(little_room_is_for_the_outermost),
		cmocka_unit_test(debug_information_may_be_in_another_file),
		cmocka_unit_test(sections_may_be_compressed),
		cmocka_unit_test(without_debug_information_there_are_names),
		cmocka_unit_test(without_symbols_nothing_is_made_up),
		cmocka_unit_test(a_small_table_may_be_packed),
		cmocka_unit_test(another_file_of_that_name_gives_no_names),
		cmocka_unit_test(a_server_may_have_it),
		cmocka_unit_test(a_file_may_shrink_meanwhile),
		cmocka_unit_test(every_form_of_debug_information_will_do),
		cmocka_unit_test(files_that_debug_information_names_are_looked_at_first),
		cmocka_unit_test(the_list_of_units_may_have_gaps),
		cmocka_unit_test(debug_information_that_repeats_itself_takes_bounded_memory),
		cmocka_unit_test(damage_does_no_harm),
		cmocka_unit_test(the_vdso_is_our_own),
		cmocka_unit_test(the_loop_of_the_interpreter_is_known),
		cmocka_unit_test(the_loop_may_be_in_two_parts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

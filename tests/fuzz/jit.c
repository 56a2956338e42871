/* jit.c - /tmp/perf-PID.map and jitdump. The first byte chooses; the files lie where they are looked for. */
#include "tests/fuzz/fuzz.h"

#include "collector/symbols/symbols_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int pid; /* no process has it */
static char map[64], dump[160];

static void init(void)
{
	char at[128];

	snprintf(at, sizeof(at), "%s", fuzz_dir());
	setenv("HOME", at, 1);
	for (const char *part = "/.debug\0/jit\0/a\0"; *part; part += strlen(part) + 1) {
		strcat(at, part);
		mkdir(at, 0700);
	}
	pid = (1 << 30) + (int)getpid();
	snprintf(dump, sizeof(dump), "%s/jit-%d.dump", at, pid);
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", pid);
}

static void run(const uint8_t *data, size_t len)
{
	bool is_map = len && data[0] & 1;
	struct symbols_server server = {0};
	size_t room = 1u << 20;
	struct symbols_frame frame;
	struct symbols_jit *j;

	if (!len)
		return;
	unlink(is_map ? dump : map);
	fuzz_file(is_map ? map : dump, data + 1, len - 1);
	j = symbols_jit_open(pid, &room, &server);
	unlink(map);
	unlink(dump);
	if (!j)
		return;
	for (uint64_t at = 0; at < 0x8000; at += 97)
		symbols_jit_find(j, at, (int64_t)at, &frame);
	symbols_jit_find(j, UINT64_MAX, INT64_MIN, &frame);
	symbols_jit_close(j);
}

static size_t put(uint8_t *to, size_t at, const void *what, size_t len)
{
	memcpy(to + at, what, len);
	return at + len;
}

static size_t put_record(uint8_t *to, size_t at, uint32_t id, uint64_t time, const void *body,
			 size_t len)
{
	struct {
		uint32_t id, size;
		uint64_t time;
	} r = {id, (uint32_t)(sizeof(r) + len), time};

	return put(to, put(to, at, &r, sizeof(r)), body, len);
}

static size_t dump_seed(uint8_t *to)
{
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} head = {0x4a695444, 1, sizeof(head), 62, 0, 1, 0, 0};
	struct {
		uint64_t at, cnt;
		struct {
			uint64_t at;
			uint32_t line, discriminator;
			char name[8];
		} line[2];
	} lines = {0x1000, 2, {{0x1000, 7, 0, "/src/fj"}, {0x1008, 8, 0, "\xff"}}};
	struct {
		uint32_t pid, tid;
		uint64_t vma, at, size, index;
		char name[16];
	} load = {1, 1, 0x1000, 0x1000, 16, 1, "one"};
	struct {
		uint32_t pid, tid;
		uint64_t vma, from, to, size, index;
	} move = {1, 1, 0, 0x1000, 0x2000, 16, 1};
	size_t at = 1;

	to[0] = 0;
	at = put(to, at, &head, sizeof(head));
	at = put_record(to, at, 2, 100, &lines, sizeof(lines));
	at = put_record(to, at, 0, 100, &load, sizeof(load));
	at = put_record(to, at, 1, 200, &move, sizeof(move));
	load.at = 0x2000;
	return put_record(to, at, 0, 300, &load, sizeof(load));
}

static size_t seed(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	static const char text[] = "\x01"
				   "1000 100 first\n0x1080 80 second (int)\nnonsense\n\n3000 zz "
				   "x\n4000 10 _ZN3geo5outerEi\n5000 10 cut";

	if (i == 0)
		return dump_seed(to);
	return i == 1 ? put(to, 0, text, sizeof(text) - 1) : 0;
}

const struct fuzz_target fuzz_jit = {"jit", run, seed, init};

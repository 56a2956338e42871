/*
 * symbols_file.c - files that describe a module: the one that was mapped, if it is still the same, and debug files that
 * were split off: found by build id or by the name in .gnu_debuglink, in the places where debuggers look.
 */
#include "collector/symbols/symbols_internal.h"
#include "collector/symbols/symbols_owner.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#if SL_HAVE_LZMA
#include <lzma.h>
#endif

#define DEBUG_ROOT "/usr/lib/debug"
#define MINI_MOST  (256u << 20) /* bytes of an unpacked .gnu_debugdata */
#define VDSO_MOST  (1u << 16)
#define ID_MOST    64u /* bytes of a build id */

static bool same_id(const struct elf_part *a, const uint8_t *id, size_t len)
{
	return a->at && a->size == len && memcmp(a->at, id, len) == 0;
}

static bool has_dwarf(const struct elf_image *e)
{
	return elf_image_has(e, ".debug_info") || elf_image_has(e, ".zdebug_info");
}

/* ---- the file itself ---- */

/* The vDSO has no file; ours is that of every process, as long as the build id is the same. */
static bool open_vdso(struct elf_image *e)
{
	uint8_t *at = (uint8_t *)getauxval(AT_SYSINFO_EHDR);
	Elf64_Ehdr h;

	if (!at)
		return false;
	memcpy(&h, at, sizeof(h));
	if (h.e_shoff > VDSO_MOST)
		return false;
	return elf_image_memory(e, at, h.e_shoff + (size_t)h.e_shentsize * h.e_shnum);
}

static const char gone_mark[] = " (deleted)";

/* "/path (deleted)", as /proc/PID/maps has it: something else may be called so by now. */
bool symbols_file_is_gone(const char *path)
{
	size_t len = strlen(path), mark_len = sizeof(gone_mark) - 1;

	return len > mark_len && strcmp(path + len - mark_len, gone_mark) == 0;
}

/* @is_sure: even without a build id it is the file that was mapped. */
static void open_image(struct symbols_file *f, const char *path, bool is_sure, const uint8_t *id,
		       size_t id_len)
{
	struct elf_part has;

	if (!elf_image_open(&f->image, path))
		return;
	has = elf_image_build_id(&f->image);
	if (id_len ? !same_id(&has, id, id_len) : !is_sure)
		elf_image_close(&f->image);
}

/* By the descriptor, whose name is then that of the file, else by its path. */
static void open_mapped(struct symbols_file *f, int held, const uint8_t *id, size_t id_len)
{
	bool is_gone = symbols_file_is_gone(f->path);
	char path[32];

	if (is_gone)
		f->path[strlen(f->path) - (sizeof(gone_mark) - 1)] = 0;
	if (strcmp(f->path, "[vdso]") == 0) {
		struct elf_part has;

		if (!open_vdso(&f->image))
			return;
		has = elf_image_build_id(&f->image);
		if (id_len && !same_id(&has, id, id_len))
			elf_image_close(&f->image);
		return;
	}
	if (held >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
		open_image(f, path, true, id, id_len);
	}
	if (f->image.at) {
		free(f->path);
		f->path = strdup(path);
	} else if (f->path[0] == '/') {
		open_image(f, f->path, !is_gone, id, id_len);
	}
}

/* ---- debug information beside it ---- */

static uint32_t crc32(const uint8_t *at, size_t size)
{
	static uint32_t table[256];
	uint32_t crc = ~0u;

	for (uint32_t i = 0; !table[255] && i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
		table[i] = c;
	}
	for (size_t i = 0; i < size; i++)
		crc = table[(crc ^ at[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

struct wanted {
	const uint8_t *id; /* of the program; NULL none */
	size_t id_len;
	bool has_crc;
	uint32_t crc;
};

/* Takes @path when it is the split-off debug information. */
static bool try_debug(struct symbols_file *f, const struct wanted *w, const char *path)
{
	struct elf_image e;
	struct elf_part id;
	bool is_it;

	if (!elf_image_open(&e, path))
		return false;
	id = elf_image_build_id(&e);
	if (w->id)
		is_it = same_id(&id, w->id, w->id_len);
	else
		is_it = w->has_crc && crc32(e.at, e.size) == w->crc;
	f->debug_path = is_it ? strdup(path) : NULL;
	if (f->debug_path)
		f->debug = e;
	else
		elf_image_close(&e);
	return f->debug_path;
}

static void to_hex(const struct wanted *w, char *hex)
{
	for (size_t i = 0; i < w->id_len; i++)
		sprintf(hex + 2 * i, "%02x", w->id[i]);
}

static bool debug_by_id(struct symbols_file *f, const struct wanted *w)
{
	char path[PATH_MAX], hex[2 * ID_MOST + 1];

	if (!w->id || w->id_len < 2 || w->id_len > ID_MOST)
		return false;
	to_hex(w, hex);
	snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2);
	return try_debug(f, w, path);
}

static bool debug_by_server(struct symbols_file *f, const struct wanted *w,
			    struct symbols_server *server)
{
	char path[PATH_MAX], hex[2 * ID_MOST + 1];

	if (!w->id || w->id_len < 2 || w->id_len > ID_MOST)
		return false;
	to_hex(w, hex);
	return symbols_debuginfod(hex, server, path, sizeof(path)) && try_debug(f, w, path);
}

static bool debug_by_link(struct symbols_file *f, struct wanted *w)
{
	struct elf_part link = elf_image_section(&f->image, ".gnu_debuglink");
	char path[PATH_MAX], real[PATH_MAX];
	size_t len = link.at ? strnlen((const char *)link.at, link.size) : 0, at = (len + 4) & ~3ul;
	const char *name = (const char *)link.at, *slash;

	if (!len || at > link.size || link.size - at < 4 || strchr(name, '/') ||
	    !realpath(f->path, real))
		return false;
	slash = strrchr(real, '/');
	if (!slash)
		return false;
	memcpy(&w->crc, link.at + at, 4);
	w->has_crc = true;
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%.*s/%s%s", i == 2 ? DEBUG_ROOT : "",
			 (int)(slash - real), real, i == 1 ? ".debug/" : "", name);
		if (strcmp(path, real) != 0 && try_debug(f, w, path))
			return true;
	}
	return false;
}

static void open_debug(struct symbols_file *f, const uint8_t *id, size_t id_len,
		       struct symbols_server *server)
{
	struct elf_part has = elf_image_build_id(&f->image);
	struct wanted w = {.id = id_len ? id : has.at, .id_len = id_len ? id_len : has.size};

	if (!has_dwarf(&f->image) && !debug_by_id(f, &w) && !debug_by_link(f, &w))
		debug_by_server(f, &w, server);
}

/* ---- a small symbol table, packed, that some distributions leave in stripped files ---- */

#if SL_HAVE_LZMA
static void open_mini(struct symbols_file *f)
{
	struct elf_part packed = elf_image_section(&f->image, ".gnu_debugdata");
	lzma_stream z = LZMA_STREAM_INIT;
	size_t cap = packed.size * 4 + 65536;
	uint8_t *out = packed.at ? malloc(cap) : NULL, *more;
	lzma_ret rc = out ? lzma_stream_decoder(&z, MINI_MOST, 0) : LZMA_MEM_ERROR;

	z.next_in = packed.at;
	z.avail_in = packed.size;
	while (rc == LZMA_OK) {
		z.next_out = out + z.total_out;
		z.avail_out = cap - z.total_out;
		rc = lzma_code(&z, LZMA_FINISH);
		if (rc != LZMA_OK || z.avail_out)
			continue;
		more = cap < MINI_MOST ? realloc(out, cap * 2) : NULL;
		if (!more)
			break;
		out = more;
		cap *= 2;
	}
	if (rc == LZMA_STREAM_END && elf_image_memory(&f->mini, out, z.total_out))
		f->mini.is_heap = true;
	else
		free(out);
	lzma_end(&z);
}
#else
static void open_mini(struct symbols_file *f)
{
	(void)f;
}
#endif

void symbols_file_open(struct symbols_file *f, const char *path, int held, const uint8_t *build_id,
		       size_t build_id_len, struct symbols_server *server)
{
	uid_t owner;

	*f = (struct symbols_file){.path = strdup(path)};
	if (!f->path)
		return;
	open_mapped(f, held, build_id, build_id_len);
	if (symbols_owner_met(&owner))
		return;
	if (f->path && f->path[0] == '/' && (f->image.at || build_id_len))
		open_debug(f, build_id, build_id_len, server);
	if (f->image.at)
		open_mini(f);
}

void symbols_file_close(struct symbols_file *f)
{
	elf_image_close(&f->image);
	elf_image_close(&f->debug);
	elf_image_close(&f->mini);
	free(f->path);
	free(f->debug_path);
}

/* kernel_types_kept.c - the file of types: a head, the BTF, the kernel's ids. */
#ifdef SL_HAVE_BPF

#include "collector/kernel/bpf/kernel_types_kept.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/cache_folder.h"
#include "collector/base/hash.h"

#define FILE_NAME   "kernel-types"
#define MAGIC       "slktyp1"
#define BYTES_MOST  (1u << 20) /* of the BTF */
#define TYPES_MOST  65536u
#define FILE_MOST   (BYTES_MOST + TYPES_MOST * sizeof(uint32_t) + sizeof(struct head))
#define NOTES_BYTES 4096u

struct head {
	struct kernel_types_key key;
	uint64_t sum; /* hash of what follows */
	uint32_t bytes, cnt;
};

/* ---- the key ---- */

static bool take_build_id(struct kernel_types_key *key, const char *at, size_t len)
{
	Elf64_Nhdr n;

	while (len >= sizeof(n)) {
		size_t name, text;

		memcpy(&n, at, sizeof(n));
		name = ((size_t)n.n_namesz + 3) & ~(size_t)3;
		text = ((size_t)n.n_descsz + 3) & ~(size_t)3;
		if (name > len || text > len || sizeof(n) + name + text > len)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz &&
		    memcmp(at + sizeof(n), "GNU", 4) == 0 && n.n_descsz <= sizeof(key->build_id)) {
			memcpy(key->build_id, at + sizeof(n) + name, n.n_descsz);
			key->build_id_len = n.n_descsz;
			return true;
		}
		at += sizeof(n) + name + text;
		len -= sizeof(n) + name + text;
	}
	return false;
}

static bool read_build_id(struct kernel_types_key *key, const char *notes)
{
	char text[NOTES_BYTES];
	int fd = open(notes, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return n > 0 && take_build_id(key, text, (size_t)n);
}

bool kernel_types_key(struct kernel_types_key *key, const char *notes, size_t btf_bytes,
		      const char *const *names, size_t name_cnt)
{
	struct stat st;

	memset(key, 0, sizeof(*key));
	memcpy(key->magic, MAGIC, sizeof(MAGIC));
	key->btf_bytes = btf_bytes;
	for (size_t i = 0; i < name_cnt; i++)
		key->names = hash_bytes(key->names, names[i], strlen(names[i]) + 1);
	if (stat("/proc/self/exe", &st) < 0)
		return false;
	key->device = st.st_dev;
	key->inode = st.st_ino;
	key->exe_size = (uint64_t)st.st_size;
	key->modified = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	return read_build_id(key, notes);
}

/* ---- the file ---- */

static uint64_t sum_of(const void *btf, uint32_t bytes, const uint32_t *real, uint32_t cnt)
{
	return hash_bytes(hash_bytes(0, btf, bytes), real, cnt * sizeof(*real));
}

/* The file's ids may lie at any address. */
static bool take_file(struct kernel_types *t, const struct kernel_types_key *key, const char *data,
		      size_t bytes)
{
	struct head h;
	const char *btf = data + sizeof(h);

	memcpy(&h, data, sizeof(h));
	if (memcmp(&h.key, key, sizeof(*key)) != 0 || !h.bytes || h.bytes > BYTES_MOST ||
	    h.cnt > TYPES_MOST || bytes != sizeof(h) + h.bytes + h.cnt * sizeof(*t->real))
		return false;
	t->btf = malloc(h.bytes);
	t->real = malloc(h.cnt * sizeof(*t->real) + 1);
	t->bytes = h.bytes;
	t->cnt = h.cnt;
	if (t->btf && t->real) {
		memcpy(t->btf, btf, h.bytes);
		memcpy(t->real, btf + h.bytes, h.cnt * sizeof(*t->real));
		if (sum_of(t->btf, t->bytes, t->real, t->cnt) == h.sum)
			return true;
	}
	kernel_types_free(t);
	return false;
}

bool kernel_types_recall(struct kernel_types *t, const struct kernel_types_key *key)
{
	struct cache_folder folder;
	size_t bytes;
	char *data = cache_folder_find(&folder)
			     ? cache_folder_read(&folder, FILE_NAME, sizeof(struct head), FILE_MOST,
						 &bytes)
			     : NULL;
	bool is_good = data && take_file(t, key, data, bytes);

	free(data);
	return is_good;
}

struct kept {
	const struct kernel_types *types;
	const struct kernel_types_key *key;
};

static bool put(FILE *f, const void *what)
{
	const struct kept *k = what;
	const struct kernel_types *t = k->types;
	const struct head h = {.key = *k->key,
			       .sum = sum_of(t->btf, t->bytes, t->real, t->cnt),
			       .bytes = t->bytes,
			       .cnt = t->cnt};

	return fwrite(&h, sizeof(h), 1, f) == 1 && fwrite(t->btf, t->bytes, 1, f) == 1 &&
	       fwrite(t->real, sizeof(*t->real), t->cnt, f) == t->cnt;
}

void kernel_types_keep(const struct kernel_types *t, const struct kernel_types_key *key)
{
	const struct kept k = {t, key};
	struct cache_folder folder;

	if (t->bytes <= BYTES_MOST && t->cnt <= TYPES_MOST && cache_folder_find(&folder))
		cache_folder_write(&folder, FILE_NAME, put, &k);
}

#endif

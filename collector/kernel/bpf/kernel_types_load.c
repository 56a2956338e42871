/*
 * kernel_types_load.c - what libbpf gets in place of the kernel's BTF.
 *
 * The linker leads libbpf's calls of two of its functions to here (--wrap, Makefile): the one that reads the kernel's BTF, and the
 * one that hands a program over, where ids of types and functions become the kernel's. A shared libbpf keeps its own.
 */
#ifdef SL_HAVE_BPF

#include "collector/kernel/bpf/kernel_types.h"
#include "collector/kernel/bpf/kernel_types_kept.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel_names.h"

#define VMLINUX    "/sys/kernel/btf/vmlinux"
#define NOTES      "/sys/kernel/notes"
#define BYTES_MOST (256u << 20)
#define NAME_CNT   (sizeof(kernel_names) / sizeof(*kernel_names))

struct btf *load_taken(void) __asm__("__wrap_btf__load_vmlinux_btf");
struct btf *load_all(void) __asm__("__real_btf__load_vmlinux_btf");
int load_program(enum bpf_prog_type type, const char *name, const char *license,
		 const struct bpf_insn *insns, size_t insn_cnt,
		 const struct bpf_prog_load_opts *opts) __asm__("__wrap_bpf_prog_load");
int load_as_it_is(enum bpf_prog_type type, const char *name, const char *license,
		  const struct bpf_insn *insns, size_t insn_cnt,
		  const struct bpf_prog_load_opts *opts) __asm__("__real_bpf_prog_load");

static struct kernel_types taken;
static bool was_tried;

/* Before Linux 6.16 the file cannot be mapped. */
static char *read_file(int fd, size_t *len)
{
	size_t cap = 8u << 20;
	char *data = malloc(cap), *grown;
	ssize_t n;

	for (*len = 0; data && (n = read(fd, data + *len, cap - *len)) > 0; *len += (size_t)n) {
		if (cap - *len > (size_t)n)
			continue;
		grown = cap < BYTES_MOST ? realloc(data, cap *= 2) : NULL;
		if (!grown)
			break;
		data = grown;
	}
	return data;
}

static void make(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	size_t len = size > 0 && size < BYTES_MOST ? (size_t)size : 0;
	void *map = len ? mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	char *data = NULL;

	lseek(fd, 0, SEEK_SET);
	if (map == MAP_FAILED)
		data = read_file(fd, &len);
	if (data || map != MAP_FAILED)
		kernel_types_make(&taken, data ? data : map, len, kernel_names, NAME_CNT);
	free(data);
	if (map != MAP_FAILED)
		munmap(map, len);
}

static void take_or_recall(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	struct kernel_types_key key;
	bool has_key =
		size > 0 && kernel_types_key(&key, NOTES, (size_t)size, kernel_names, NAME_CNT);

	if (has_key && kernel_types_recall(&taken, &key))
		return;
	make(fd);
	if (has_key && taken.btf)
		kernel_types_keep(&taken, &key);
}

/* NULL: it has another form; then libbpf reads it itself. */
static const struct kernel_types *types(void)
{
	int fd = was_tried ? -1 : open(VMLINUX, O_RDONLY | O_CLOEXEC);

	was_tried = true;
	if (fd >= 0) {
		take_or_recall(fd);
		close(fd);
	}
	return taken.btf ? &taken : NULL;
}

static uint32_t real_of(uint32_t id)
{
	return id && id <= taken.cnt && taken.real[id - 1] ? taken.real[id - 1] : id;
}

struct btf *load_taken(void)
{
	const struct kernel_types *t = types();

	return t ? btf__new(t->btf, t->bytes) : load_all();
}

uint32_t kernel_types_struct(const char *name)
{
	struct btf *btf = load_taken();
	int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT) : 0;

	btf__free(btf);
	return id > 0 ? taken.btf ? real_of((uint32_t)id) : (uint32_t)id : 0;
}

static bool is_call_of_kernel(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_CALL) && i->src_reg == BPF_PSEUDO_KFUNC_CALL && !i->off;
}

int load_program(enum bpf_prog_type type, const char *name, const char *license,
		 const struct bpf_insn *insns, size_t insn_cnt,
		 const struct bpf_prog_load_opts *opts)
{
	struct bpf_prog_load_opts real;
	struct bpf_insn *copy;
	int fd;

	if (!taken.btf || !opts || opts->sz > sizeof(real) ||
	    opts->sz < offsetof(struct bpf_prog_load_opts, attach_btf_id) + sizeof(uint32_t))
		return load_as_it_is(type, name, license, insns, insn_cnt, opts);
	memset(&real, 0, sizeof(real));
	memcpy(&real, opts, opts->sz);
	/* Not that of another program or of a module. */
	if (!real.attach_prog_fd && !real.attach_btf_obj_fd)
		real.attach_btf_id = real_of(real.attach_btf_id);
	copy = malloc((insn_cnt + 1) * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, insns, insn_cnt * sizeof(*copy));
	for (size_t i = 0; i < insn_cnt; i++)
		if (is_call_of_kernel(&copy[i]))
			copy[i].imm = (int32_t)real_of((uint32_t)copy[i].imm);
	fd = load_as_it_is(type, name, license, copy, insn_cnt, &real);
	free(copy);
	return fd;
}

#endif

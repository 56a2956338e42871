/* debug_file.c - maps a file of debug information; what is compressed in it is decompressed as far as it is read. */
#include "collector/symbols/debug_file.h"

#if SL_HAVE_LIBDW

#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/plain_file.h"
#include "collector/symbols/debug_image.h"

static Elf *open_plain(const char *path)
{
	struct stat st;
	int fd = plain_file_open(path, true, &st);
	Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;

	/* Nothing reads from it any more: a program may have more files than we descriptors. */
	if (elf)
		elf_cntl(elf, ELF_C_FDDONE);
	if (fd >= 0)
		close(fd);
	return elf;
}

/* As far as it is read, where that works. */
static Elf *open_compressed(struct debug_file *f, const char *path)
{
	size_t size;
	char *at;

	if (!elf_image_open(&f->mapped, path))
		return NULL;
	f->image = debug_image_open(f->mapped.at, f->mapped.size);
	if (!f->image) {
		elf_image_close(&f->mapped);
		return NULL;
	}
	at = debug_image_elf(f->image, &size);
	return elf_memory(at, size);
}

bool debug_file_open(struct debug_file *f, const char *path)
{
	elf_version(EV_CURRENT);
	f->elf = open_compressed(f, path);
	if (!f->elf)
		f->elf = open_plain(path);
	f->dw = f->elf ? dwarf_begin_elf(f->elf, DWARF_C_READ, NULL) : NULL;
	return f->dw;
}

void debug_file_close(struct debug_file *f)
{
	if (f->dw)
		dwarf_end(f->dw);
	if (f->elf)
		elf_end(f->elf);
	debug_image_close(f->image);
	elf_image_close(&f->mapped);
}

#else
typedef int debug_file_is_empty;
#endif

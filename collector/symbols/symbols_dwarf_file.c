/* symbols_dwarf_file.c - opens a file for libdw, without the sections that no answer comes from. */
#include "collector/symbols/symbols_scope.h"

#if SL_HAVE_LIBDW

#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/symbols/symbols_owner.h"

/* Where variables are, macros, and the tables of debuggers. libdw would decompress all sections at once. */
static bool is_unused(const char *name)
{
	static const char *const names[] = {".debug_loclists", ".debug_loc",     ".debug_macro",
					    ".debug_macinfo",  ".debug_frame",   ".debug_names",
					    ".debug_pubnames", ".debug_pubtypes"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* In memory: the file is mapped privately. */
static void leave_out_unused(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;
	GElf_Shdr head;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section))) {
		const char *name =
			gelf_getshdr(section, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;

		if (!name || !(head.sh_flags & SHF_COMPRESSED) || !is_unused(name))
			continue;
		head.sh_type = SHT_NOBITS;
		gelf_update_shdr(section, &head);
	}
}

Dwarf *symbols_dwarf_file(const char *path, Elf **elf)
{
	struct stat st;
	int fd = symbols_owner_open(path, &st);
	Dwarf *dw;

	if (fd < 0)
		return NULL;
	elf_version(EV_CURRENT);
	*elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (*elf)
		leave_out_unused(*elf);
	dw = *elf ? dwarf_begin_elf(*elf, DWARF_C_READ, NULL) : NULL;
	/* Nothing reads from it any more: a program may have more files than we descriptors. */
	if (*elf)
		elf_cntl(*elf, ELF_C_FDDONE);
	close(fd);
	return dw;
}

#endif

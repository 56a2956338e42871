/* symbols_aranges.c - reads .debug_aranges; it may hold anything. */
#include "collector/symbols/symbols_aranges.h"

#if SL_HAVE_LIBDW

#include <gelf.h>
#include <string.h>

/* A number of 2, 4 or 8 bytes; 0 behind the end. */
static uint64_t take(struct aranges *l, size_t bytes)
{
	uint64_t number = 0;

	if (bytes > l->left) {
		l->left = 0;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		number |=
			(uint64_t)
				l->at[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : bytes - 1 - i]
			<< 8 * i;
	l->at += bytes;
	l->left -= bytes;
	return number;
}

struct aranges aranges_set(struct aranges *l, uint64_t *unit)
{
	struct aranges set = {0};
	uint64_t bytes = take(l, 4), head;
	size_t offset = 4;

	if (bytes == 0xffffffff) {
		bytes = take(l, 8);
		offset = 8;
	}
	set = (struct aranges){l->at, bytes < l->left ? (size_t)bytes : l->left};
	l->at += set.left;
	l->left -= set.left;
	if (take(&set, 2) != 2)
		return (struct aranges){0};
	*unit = take(&set, offset);
	/* Addresses of 8 bytes, without segments. Ranges are aligned to their size, from the beginning of the set. */
	if (take(&set, 1) != 8 || take(&set, 1) != 0)
		return (struct aranges){0};
	head = (offset == 8 ? 12 : 4) + 2 + offset + 2;
	head = (16 - head % 16) % 16;
	if (head > set.left)
		return (struct aranges){0};
	set.at += head;
	set.left -= head;
	return set;
}

bool aranges_next(struct aranges *set, uint64_t *from, uint64_t *bytes)
{
	if (set->left < 16)
		return false;
	*from = take(set, 8);
	*bytes = take(set, 8);
	return true;
}

struct aranges aranges_of(Elf *elf)
{
	struct aranges l = {0};
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return l;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;
		const Elf_Data *data;
		GElf_Shdr head;

		if (!gelf_getshdr(section, &head))
			continue;
		name = elf_strptr(elf, names, head.sh_name);
		if (!name || strcmp(name, ".debug_aranges") != 0 || head.sh_type == SHT_NOBITS)
			continue;
		data = elf_getdata(section, NULL);
		if (data && data->d_buf)
			l = (struct aranges){data->d_buf, data->d_size};
		break;
	}
	return l;
}

#else
typedef int symbols_aranges_is_empty;
#endif

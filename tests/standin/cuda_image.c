/* cuda_image.c - reads the names of functions out of PTX and of the symbol tables of ELF images. */
#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cuda_image.h"

enum {
	STO_ENTRY = 0x10 /* st_other of a kernel; functions of the device are without */
};

static void add(struct image_symbol **list, const char *name, size_t len, bool is_kernel,
		size_t bytes, const void *initial)
{
	struct image_symbol *s = calloc(1, sizeof(*s) + len + 1);

	if (!s)
		abort();
	memcpy(s->name, name, len);
	s->is_kernel = is_kernel;
	s->bytes = bytes;
	if (initial) {
		s->initial = malloc(bytes ? bytes : 1);
		if (!s->initial)
			abort();
		memcpy(s->initial, initial, bytes);
	}
	s->next = *list;
	*list = s;
}

struct image_symbol *image_find(struct image_symbol *list, const char *name, bool is_kernel)
{
	for (; list; list = list->next)
		if (list->is_kernel == is_kernel && strcmp(list->name, name) == 0)
			break;
	return list;
}

void image_free(struct image_symbol *list)
{
	struct image_symbol *next;

	for (; list; list = next) {
		next = list->next;
		free(list->initial);
		free(list);
	}
}

/* ---- PTX ---- */

bool image_is_ptx(const char *image)
{
	image += strspn(image, " \t\r\n");
	return !strncmp(image, ".version", 8) || !strncmp(image, "//", 2);
}

/* Comments become blanks. */
static char *without_comments(const char *text)
{
	char *copy = strdup(text), *at, *end;

	if (!copy)
		abort();
	for (at = copy; *at; at++) {
		if (strncmp(at, "//", 2) == 0)
			end = at + strcspn(at, "\n");
		else if (strncmp(at, "/*", 2) == 0)
			end = (end = strstr(at, "*/")) ? end + 2 : at + strlen(at);
		else
			continue;
		memset(at, ' ', (size_t)(end - at));
	}
	return copy;
}

static size_t name_len(const char *at)
{
	size_t len = 0;

	while (isalnum((unsigned char)at[len]) || at[len] == '_' || at[len] == '$')
		len++;
	return len;
}

/* The next word of the statement, or NULL. */
static const char *word(const char **at, const char *end, size_t *len)
{
	const char *begin;

	while (*at < end && isspace((unsigned char)**at))
		++*at;
	begin = *at;
	while (*at < end && !isspace((unsigned char)**at))
		++*at;
	*len = (size_t)(*at - begin);
	return *len ? begin : NULL;
}

static bool is_word(const char *w, size_t len, const char *what)
{
	return w && len == strlen(what) && !memcmp(w, what, len);
}

/* ".align 4 .v2 .f32 table[16][2]": all that comes behind .global or .const. */
static void variable(struct image_symbol **list, const char *at, const char *end)
{
	size_t bytes = 0, vector = 1, len;
	const char *w;

	while ((w = word(&at, end, &len)) && *w == '.') {
		if (is_word(w, len, ".align"))
			word(&at, end, &len);
		else if (len == 3 && w[1] == 'v')
			vector = (size_t)(w[2] - '0');
		else if (strchr("busf", w[1]) && isdigit((unsigned char)w[2]))
			bytes = strtoul(w + 2, NULL, 10) / 8;
		else if (is_word(w, len, ".texref") || is_word(w, len, ".surfref"))
			return;
	}
	if (!w || !bytes)
		return;
	len = name_len(w);
	bytes *= vector;
	for (at = w + len; at < end && *at != '='; at++)
		if (*at == '[')
			bytes *= strtoul(at + 1, NULL, 10);
	add(list, w, len, false, bytes, NULL);
}

static void statement(struct image_symbol **list, const char *at, const char *end)
{
	bool is_extern = false;
	const char *w;
	size_t len;

	while ((w = word(&at, end, &len)) != NULL) {
		if (is_word(w, len, ".extern"))
			is_extern = true;
		else if (is_word(w, len, ".entry")) {
			w = word(&at, end, &len);
			if (w && !is_extern)
				add(list, w, name_len(w), true, 0, NULL);
			return;
		} else if (is_word(w, len, ".global") || is_word(w, len, ".const")) {
			if (!is_extern)
				variable(list, at, end);
			return;
		} else if (is_word(w, len, ".func")) {
			return;
		}
	}
}

/* A statement ends with ; or with a body in braces, or with one that is a value and then ; */
static void ptx_read(const char *image, struct image_symbol **list)
{
	char *text = without_comments(image);
	const char *at, *begin = text;
	int depth = 0;

	for (at = text; *at; at++) {
		if (*at == '{') {
			if (!depth++)
				statement(list, begin, at);
		} else if (*at == '}') {
			depth -= depth > 0;
			begin = at + 1;
		} else if (*at == ';') {
			if (!depth)
				statement(list, begin, at);
			begin = at + 1;
		}
	}
	free(text);
}

/* ---- machine code ---- */

static const void *content(const char *image, const Elf64_Shdr *section, const Elf64_Sym *s)
{
	return section->sh_type == SHT_NOBITS ? NULL : image + section->sh_offset + s->st_value;
}

static void symbols_read(const char *image, const Elf64_Shdr *sections, const Elf64_Shdr *table,
			 struct image_symbol **list)
{
	const Elf64_Sym *s = (const void *)(image + table->sh_offset);
	const char *names = image + sections[table->sh_link].sh_offset;
	size_t i, cnt = table->sh_size / sizeof(*s);

	for (i = 0; i < cnt; i++) {
		const char *name = names + s[i].st_name;
		int type = ELF64_ST_TYPE(s[i].st_info);

		if (s[i].st_shndx == SHN_UNDEF || s[i].st_shndx >= SHN_LORESERVE)
			continue;
		if (type == STT_FUNC && s[i].st_other & STO_ENTRY)
			add(list, name, strlen(name), true, 0, NULL);
		else if (type == STT_OBJECT)
			add(list, name, strlen(name), false, s[i].st_size,
			    content(image, &sections[s[i].st_shndx], &s[i]));
	}
}

static bool elf_read(const char *image, struct image_symbol **list)
{
	const Elf64_Ehdr *header = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
	bool found = false;
	unsigned i;

	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_CUDA)
		return false;
	for (i = 0; i < header->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB) {
			symbols_read(image, sections, &sections[i], list);
			found = true;
		}
	return found;
}

bool image_read(const void *image, struct image_symbol **list)
{
	const char *text = image;

	*list = NULL;
	if (memcmp(text, ELFMAG, SELFMAG) == 0)
		return elf_read(image, list);
	if (!image_is_ptx(text))
		return false;
	ptx_read(text, list);
	return *list != NULL;
}

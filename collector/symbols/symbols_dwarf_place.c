/* symbols_dwarf_place.c - files and lines as debug information states them. */
#include "collector/symbols/symbols_scope.h"

#if SL_HAVE_LIBDW

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

/* Where the unit was compiled. */
static const char *folder(Dwarf_Die *unit)
{
	Dwarf_Attribute a;

	return dwarf_attr(unit, DW_AT_comp_dir, &a) ? dwarf_formstring(&a) : NULL;
}

const char *symbols_source_path(struct symbols *s, Dwarf_Die *unit, const char *path)
{
	char text[4096], whole[4096];
	const char *in = path && path[0] != '/' ? folder(unit) : NULL;
	size_t len = 0;

	if (in && snprintf(whole, sizeof(whole), "%s/%s", in, path) < (int)sizeof(whole))
		path = whole;
	if (!path || strlen(path) >= sizeof(text))
		return path ? symbols_text(s, path) : NULL;
	for (const char *p = path; *p;) {
		size_t n = strcspn(p + 1, "/") + 1; /* "/part", at the beginning perhaps "part" */

		if (n == 2 && memcmp(p, "/.", 2) == 0) {
			p += n;
			continue;
		}
		if (n == 3 && memcmp(p, "/..", 3) == 0 && len) {
			size_t back = len;

			while (back && text[back - 1] != '/')
				back--;
			/* Not over the root, nor over a part that is itself a step up, or "here". */
			if (back > 1 && text[back] != '.') {
				len = back - 1;
				p += n;
				continue;
			}
		}
		memcpy(text + len, p, n);
		len += n;
		p += n;
	}
	text[len] = 0;
	return symbols_text(s, text);
}

const char *symbols_call_file(Dwarf_Die *unit, Dwarf_Die *inlined)
{
	Dwarf_Attribute a;
	Dwarf_Word number;
	Dwarf_Files *files;
	size_t cnt;

	if (!dwarf_attr(inlined, DW_AT_call_file, &a) || dwarf_formudata(&a, &number) != 0 ||
	    dwarf_getsrcfiles(unit, &files, &cnt) != 0 || number >= cnt)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

int symbols_call_line(Dwarf_Die *inlined)
{
	Dwarf_Attribute a;
	Dwarf_Word line;

	if (!dwarf_attr(inlined, DW_AT_call_line, &a) || dwarf_formudata(&a, &line) != 0)
		return 0;
	return line <= INT32_MAX ? (int)line : 0;
}

#endif

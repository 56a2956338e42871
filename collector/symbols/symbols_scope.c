/* symbols_scope.c - the name of a function in debug information, with its namespaces and classes. */
#include "collector/symbols/symbols_scope.h"

#if SL_HAVE_LIBDW

#include <dwarf.h>
#include <string.h>

#define SCOPES_MOST 64

const char *symbols_linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &a) &&
	    !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		return NULL;
	name = dwarf_formstring(&a);
	return name && *name ? name : NULL;
}

/* Where a function is declared: it stands in its class there. */
static void declaration(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Die next;

	for (int i = 0; i < 8; i++) {
		if (!dwarf_attr(die, DW_AT_abstract_origin, &a) &&
		    !dwarf_attr(die, DW_AT_specification, &a))
			return;
		if (!dwarf_formref_die(&a, &next))
			return;
		*die = next;
	}
}

static bool is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type || tag == DW_TAG_interface_type;
}

/*
 * The entries that @die stands in, the outermost first: their number; 0 as well for an entry that is not reached over @most of
 * them. dwarf_getscopes_die() calls itself for each level of the unit, and so ends the process where a file has enough of those.
 */
static int scopes_of(Dwarf_Die *die, Dwarf_Die *scopes, int most)
{
	Dwarf_Off target = dwarf_dieoffset(die);
	Dwarf_Die unit, child, last;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return 0;
	for (int cnt = 0; cnt < most; scopes[cnt++] = last) {
		if (dwarf_child(cnt ? &scopes[cnt - 1] : &unit, &child) != 0)
			return 0;
		/* Entries are in order, and what is within one stands before its sibling. */
		do
			last = child;
		while (dwarf_siblingof(&last, &child) == 0 && dwarf_dieoffset(&child) <= target);
		if (dwarf_dieoffset(&last) == target)
			return cnt;
	}
	return 0;
}

/* "space::Class::name", for functions without a linkage name: inlined constructors, for example. */
static const char *scoped_name(struct symbols *s, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	Dwarf_Die scopes[SCOPES_MOST];
	char text[1024];
	size_t len = 0;
	int cnt;

	if (!name)
		return NULL;
	declaration(die);
	cnt = scopes_of(die, scopes, SCOPES_MOST);
	for (int i = 0; i < cnt; i++) {
		int tag = dwarf_tag(&scopes[i]);
		const char *scope = is_scope(tag) ? dwarf_diename(&scopes[i]) : NULL;

		if (!scope && tag == DW_TAG_namespace)
			scope = "(anonymous namespace)";
		if (scope && len + strlen(scope) + 3 < sizeof(text) / 2) {
			memcpy(text + len, scope, strlen(scope));
			len += strlen(scope);
			memcpy(text + len, "::", 2);
			len += 2;
		}
	}
	if (strlen(name) >= sizeof(text) - len)
		return symbols_text(s, name);
	memcpy(text + len, name, strlen(name) + 1);
	return symbols_text(s, text);
}

static bool is_language_with_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return false;
	default:
		return true;
	}
}

const char *symbols_function_name(struct symbols *s, Dwarf_Die *unit, Dwarf_Die *function)
{
	const char *symbol = symbols_linkage_name(function), *name;
	Dwarf_Die die = *function;

	if (symbol) {
		/* A function whose symbol cannot be demangled still has its name and its scope. */
		name = strncmp(symbol, "_R", 2) == 0 ? NULL : symbols_demangled(s, symbol);
		if (name)
			return name;
	}
	if (is_language_with_scopes(unit) && (name = scoped_name(s, &die)))
		return name;
	name = dwarf_diename(function);
	return name ? symbols_text(s, name) : NULL;
}

#endif

/* symbol.h - functions that the loaded objects of a process export, read from its memory by the tables of their loader. */
#pragma once

#include "collector/inject/subject.h"

/* An object with a table of symbols. */
struct symbol_object {
	uint64_t from, to; /* of its file's mappings */
	uint64_t bias;
	uint64_t symtab, strtab, versym, gnu_hash; /* addresses; versym 0: none */
	enum subject_kind kind;
};
struct symbol_list {
	struct symbol_object *at;
	size_t cnt, room;
};

/* The objects that are mapped. False: no memory. symbol_list_free() in any case. */
bool symbol_objects(const struct subject *t, struct symbol_list *list);
void symbol_list_free(struct symbol_list *list);

enum symbol_where {
	SYMBOL_LIBC,  /* in the parts of the C library */
	SYMBOL_OTHER, /* in all objects but these and the loader */
};
/* The address of the default version of function @name; 0: none of the objects has it. */
uint64_t symbol_find(const struct subject *t, const struct symbol_list *list, const char *name,
		     enum symbol_where where);
/* The object other than the C library that defines malloc(): where it is mapped; 0 and 0: none does. */
void symbol_allocator(const struct subject *t, const struct symbol_list *list, uint64_t *from,
		      uint64_t *to);

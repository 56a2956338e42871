/* exec_file.h - what the file of a program that is about to be executed asks of its preloads. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* The file that an exec or spawn names. */
struct sl_exec_file {
	const char *path;  /* readable, or NULL: unknown */
	int dir;           /* base of a relative path: a descriptor or AT_FDCWD */
	bool in_path;      /* without a slash it is searched for in PATH */
	bool by_fd;        /* it is the descriptor dir */
	char *const *argv; /* its arguments, not read yet; NULL: unknown */
	bool is_moved; /* the program may start in another directory: only an absolute path is looked at */
};

#define SL_RUNTIME_BYTES 64u

/* What sl_exec_look() reads: kept off the stack, which may be a small one, of a handler or of a child made by clone. */
struct sl_exec_room {
	char path[4096]; /* of a program that is searched for */
	struct {
		char bytes[1024]; /* of the file: with most programs all headers are among them */
		long cnt;
	} start;
	Elf64_Ehdr header;
	Elf64_Phdr part;
	struct {
		Elf64_Dyn of[40]; /* dynamic entries, read a few at a time */
		unsigned first, cnt;
	} window;
};

enum sl_exec_needs {
	SL_EXEC_NOTHING, /* or the file cannot be read */
	SL_EXEC_RUNTIME, /* a sanitizer's runtime, before this library */
	SL_EXEC_OTHER, /* libraries of another word size or processor: its loader would complain of this one */
};

/*
 * @name: the library of the runtime, as the program has it. Scripts: that of the interpreter. @list: of PATH. No allocation:
 * this may be a vfork child; system calls on one descriptor, which it closes.
 */
enum sl_exec_needs sl_exec_look(const struct sl_exec_file *file, const char *list,
				struct sl_exec_room *room, char name[SL_RUNTIME_BYTES]);

/* Whether the program is a dynamic loader, which programs may start with another as its argument. */
bool sl_exec_is_loader(const char *path);
/* An argument of it, behind the first. */
enum sl_loader_word {
	SL_LOADER_LISTS,  /* it is to list libraries, as ldd does: this one would be in the list */
	SL_LOADER_OPTION, /* another option: the next argument is one of its own, too, */
	SL_LOADER_VALUE,  /* or is the value of this one */
	SL_LOADER_END,    /* the program: what follows are its arguments */
};
enum sl_loader_word sl_exec_loader_word(const char *word);

/* Whether LD_PRELOAD's @list begins with @name. */
bool sl_exec_runtime_is_first(const char *list, const char *name);

#pragma GCC visibility pop

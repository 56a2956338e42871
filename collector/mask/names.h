/* names.h - secrets by the name of an argument, by the beginning of a value and by the options of a program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum secret {
	SECRET_NONE,
	SECRET_WEAK, /* of some values: secret_value_is_plain() */
	SECRET_SURE,
	SECRET_HEADER /* the rest of the line is the value */
};

/* Returns the kind of secret in the value of an argument called @name. */
enum secret secret_of_name(const char *name, size_t len);
/* "--ask-pass": the argument behind it is not its value. */
bool secret_is_switch(const char *name, size_t len);
/* True: a value of a WEAK name that is no secret: true, off, none, 2048. */
bool secret_value_is_plain(const char *value, size_t len);
/* PWD=/home/x, of the shell. */
bool secret_value_is_folder(const char *name, size_t len, const char *value);
/* The bytes of the token that begins at @at; 0: none does. */
size_t secret_token(const char *at);
/* "Bearer": the bytes that the word behind it has at least, if that is a secret; 0: another word. */
size_t secret_scheme(const char *word, size_t len);
/* scheme://NAME@host has the name of a user. */
bool secret_scheme_has_users(const char *scheme, size_t len);

enum secret_place {
	SECRET_APART,  /* the value is the next word */
	SECRET_JOINED, /* -pX, --user=X */
	SECRET_EITHER,
	SECRET_CLUSTER /* EITHER, and the option may be the last letter of several: -sSu X */
};
struct secret_option {
	const char *programs; /* a list of words; "*": any */
	const char *option;
	enum secret_place place;
	const char *
		part; /* the secret is the text behind the first of this sign; "": all of the value */
};
/* The program of that name in the tables: a text that stays, up to a space or its end; NULL: not there. */
const char *secret_program(const char *name, size_t len);
/*
 * The option that the @len bytes of @word are, of @program (secret_program()); NULL: none. @joined: the bytes before its value, which
 * is part of the word; 0: the value is the next word.
 */
const struct secret_option *secret_option(const char *program, const char *word, size_t len,
					  size_t *joined);

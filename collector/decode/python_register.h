/*
 * python_register.h - reports of the Python modules of a traced program (SL_NOTE_PYTHON): whether a
 * function that is to become a range was found, and messages for the user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct python;

/* With room for @steps functions; NULL: no memory. */
struct python *python_register_new(size_t steps);
/* A function as it was given: [NAME=]MODULE:FUNCTION, or @MODULE:FUNCTION for --python-functions-trace. */
void python_register_add(struct python *p, const char *text, size_t len);
/* Programs can import Sightline's modules from now on. */
void python_register_offered(struct python *p);

/* One note of a program. *@all is made if it is NULL and the note is a message. */
void python_note(struct python **all, const char *text);

typedef void python_remark_fn(void *to, const char *what, const char *text);
/* Emits the messages and the functions that were not found. False: the modules were offered and no Python ran them. */
bool python_register_end(const struct python *p, python_remark_fn *emit, void *to);
void python_register_free(struct python *p);

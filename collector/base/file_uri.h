/* file_uri.h - names of files as SQLite's URIs. */
#pragma once

/* "file:PATH?@what", malloc'd, with all characters of the path that mean something there escaped. NULL: no memory. */
char *file_uri(const char *path, const char *what);

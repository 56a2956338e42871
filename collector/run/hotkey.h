/*
 * hotkey.h - a key of the terminal, for --capture-range=hotkey.
 *
 * The terminal is the program's. Its keys are read only while this process is in its foreground, no process of the
 * program waits for input from it, and its modes are the ordinary ones: lines, with echo. Then it delivers single
 * keys without echo; other keys are kept, and pushed back where the kernel allows it (TIOCSTI) when the program reads
 * or at the end; elsewhere they are lost. As soon as the program reads, or sets modes of its own, the terminal is
 * restored. Its modes are put back in every way out but SIGKILL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

struct hotkey {
	bool is_open;
	int tty;
	bool has_taken;              /* its modes were set here */
	struct termios theirs, ours; /* as found; as set */
	char key[3][8];              /* sequences of the key, NUL terminated */
	char part[8];                /* begun, and may still become the key */
	size_t part_len;
	char kept[256]; /* typed, and not the key */
	size_t kept_len;
	int64_t looked_ms;
};

/* @key: "F1" to "F12", or a character. 0, or -errno (-ENXIO: there is no terminal). */
int hotkey_open(struct hotkey *h, const char *key);
/* Takes the terminal or gives it back, by its state. Call it often; it checks ten times a second. */
void hotkey_look(struct hotkey *h, pid_t program);
/* To be read from now, or -1: it is the program's. Readable: call hotkey_read(). */
int hotkey_fd(const struct hotkey *h);
/* How often the key was pressed. */
int hotkey_read(struct hotkey *h);
/* Gives the terminal back until the next hotkey_look(). */
void hotkey_yield(struct hotkey *h);
void hotkey_close(struct hotkey *h);

/* Gets the sequences that a terminal may send for @key. Returns their number, 0: no key of that name. */
int hotkey_sequences(const char *key, char sequences[3][8]);
/* Takes @len bytes that were typed: how often the key is among them; others go to h->kept. */
int hotkey_take(struct hotkey *h, const char *bytes, size_t len);

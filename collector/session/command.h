/*
 * command.h - packets between a command such as `sightline stop` and a session's collector.
 *
 * The socket "command" in the session directory, SOCK_SEQPACKET: one packet asks, one answers, then the collector
 * closes. Both are words, a NUL after each, COMMAND_VERSION first:
 *
 *   question   VERSION VERB ARGUMENT...
 *   answer     VERSION STATUS TEXT      an exit status of a command and its message; lines of key=value for "status"
 *
 * To "wait" the answer comes when the session ends; before it, "hotkey" KEY may come ("": none any more). A packet is
 * whole or it is refused: there is nothing to resume.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COMMAND_VERSION "sightline-command-1"
#define COMMAND_BYTES   65536u
#define COMMAND_WORDS   256

/* The packet as it travels, and its words without the version. */
struct command {
	char text[COMMAND_BYTES];
	size_t len;                    /* > COMMAND_BYTES: too long, will not be sent */
	char *word[COMMAND_WORDS + 1]; /* after command_read(); ends with NULL */
	int cnt;
};

/* Begins a packet; words follow. */
void command_begin(struct command *p);
void command_add(struct command *p, const char *word);

/* Parses p->text of @len bytes. 0; -EPROTO: not a packet of this protocol. */
int command_read(struct command *p, size_t len);

/* 0, or -errno (-EMSGSIZE: too long). Never blocks, never raises SIGPIPE. */
int command_send(int sock, const struct command *p);
/* The next packet within @timeout_ms (-1: however long it takes). 0, -ETIMEDOUT, -ECONNRESET (hung up), -EPROTO, ... */
int command_receive(int sock, struct command *p, int timeout_ms);

struct sockaddr_un;
/* A socket, not yet bound or connected, and the address of the session in @dir. A descriptor or -errno. */
int command_socket(const char *dir, struct sockaddr_un *addr);
/* Connects to the session in @dir, which must be @owner's (or root's). A descriptor or -errno. */
int command_connect(const char *dir, uid_t owner);

/*
 * Asks the session in @dir and waits for the answer; @p has the question and gets the answer.
 * Its status with p->word[1] the text, which is clean (sl_clean()), or -errno.
 */
int command_ask(const char *dir, uid_t owner, struct command *p, int timeout_ms);
/* The status of an answer that was received; -EPROTO. */
int command_status(const struct command *p);
/* The value of "KEY=" in lines of key=value, copied; "" when there is none. */
const char *command_value(const char *text, const char *key, char *value, size_t size);

/* guard.c - host, origin, token. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "exporters/view/server/guard.h"

int view_token_make(char token[VIEW_TOKEN_LEN + 1])
{
	unsigned char bytes[VIEW_TOKEN_LEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -1;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* A name that leads to this machine from itself, with any port: a tunnel changes it. */
static bool is_local(const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i]);
		const char *port = host + len;

		if (strncasecmp(host, names[i], len) != 0)
			continue;
		if (*port == '\0')
			return true;
		return *port == ':' && port[1] && strlen(port) <= 6 &&
		       strspn(port + 1, "0123456789") == strlen(port + 1);
	}
	return false;
}

/* Takes the same time wherever the first difference is. */
static bool is_token(const char *given, const char *token)
{
	unsigned char diff = 0;

	if (!given || strncmp(given, "Bearer ", 7) != 0)
		return false;
	given += 7;
	if (strlen(given) != VIEW_TOKEN_LEN)
		return false;
	for (size_t i = 0; i < VIEW_TOKEN_LEN; i++)
		diff |= (unsigned char)(given[i] ^ token[i]);
	return diff == 0;
}

int view_guard(const struct view_heads *h, const char *token, const char **why)
{
	if (strcmp(h->method, "GET") != 0 && strcmp(h->method, "POST") != 0) {
		*why = "only GET and POST are answered";
		return 405;
	}
	if (!h->host || !is_local(h->host)) {
		*why = "the request is for another host: open the address that sightline view "
		       "printed";
		return 403;
	}
	if (h->origin &&
	    (strncmp(h->origin, "http://", 7) != 0 || strcasecmp(h->origin + 7, h->host) != 0)) {
		*why = "the request comes from another page";
		return 403;
	}
	if (h->site && strcmp(h->site, "none") != 0 && strcmp(h->site, "same-origin") != 0) {
		*why = "the request comes from another site";
		return 403;
	}
	if (token && !is_token(h->authorization, token)) {
		*why = "the token is missing or wrong: open the address that sightline view "
		       "printed";
		return 401;
	}
	return 0;
}

/* input.c - lines of a client, which are also read while a command runs: one of them may cancel the call that it runs for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/mcp/mcp.h"

#define ROOM (4u * MCP_LINE_MAX)

/* Lines that came, and have not been answered: data[0..len). */
struct mcp_input {
	int fd;
	char *data;
	size_t len;
	bool is_at_end;  /* nothing more comes */
	bool is_in_long; /* within a line that was too long, of which the rest is left out */
};

struct mcp_input *mcp_input_open(int fd)
{
	struct mcp_input *in = calloc(1, sizeof(*in));

	if (in)
		in->data = malloc(ROOM);
	if (!in || !in->data) {
		free(in);
		return NULL;
	}
	in->fd = fd;
	return in;
}

void mcp_input_close(struct mcp_input *in)
{
	if (in)
		free(in->data);
	free(in);
}

int mcp_input_fd(const struct mcp_input *in)
{
	return in->is_at_end || in->len == ROOM ? -1 : in->fd;
}

void mcp_input_fill(struct mcp_input *in)
{
	ssize_t got;

	do
		got = read(in->fd, in->data + in->len, ROOM - in->len);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		in->len += (size_t)got;
	else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
		in->is_at_end = true;
}

static void drop(struct mcp_input *in, size_t len)
{
	in->len -= len;
	memmove(in->data, in->data + len, in->len);
}

bool mcp_input_line(struct mcp_input *in, char *line, size_t *len)
{
	for (;;) {
		char *end = memchr(in->data, '\n', in->len);
		size_t all = end ? (size_t)(end - in->data) : in->len;

		if (in->is_in_long) {
			drop(in, end ? all + 1 : all);
			in->is_in_long = !end;
		} else if (end || all > MCP_LINE_MAX || (in->is_at_end && all)) {
			*len = all > MCP_LINE_MAX ? MCP_LINE_MAX + 1 : all;
			memcpy(line, in->data, *len);
			in->is_in_long = !end;
			drop(in, end ? all + 1 : all);
			if (*len && *len <= MCP_LINE_MAX && line[*len - 1] == '\r')
				(*len)--;
			return true;
		}
		if (in->is_at_end && !in->len)
			return false;
		if (!memchr(in->data, '\n', in->len) && !in->is_at_end)
			mcp_input_fill(in);
	}
}

/* Does the line cancel the request @id, which is JSON? */
static bool is_cancel(const struct mcp *m, const char *line, size_t len, const char *id)
{
	static const char name[] = "notifications/cancelled";
	sqlite3_stmt *stmt = NULL;
	bool is = false;

	if (len > MCP_LINE_MAX || !memmem(line, len, name, sizeof(name) - 1) ||
	    memchr(line, 0, len))
		return false;
	if (sqlite3_prepare_v2(
		    m->sqlite,
		    "SELECT json_extract(?1, '$.method') = ?2 AND json_type(?1, '$.id') "
		    "IS NULL AND json_quote(json_extract(?1, '$.params.requestId')) = "
		    "json_quote(json_extract('[' || ?3 || ']', '$[0]')) WHERE json_valid(?1)",
		    -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, line, (int)len, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, name, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, id, -1, SQLITE_STATIC);
		is = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0);
	}
	sqlite3_finalize(stmt);
	return is;
}

bool mcp_input_cancels(const struct mcp *m, const char *id)
{
	const struct mcp_input *in = m->input;
	const char *at = in ? in->data : NULL, *end;
	size_t left = in ? in->len : 0;

	if (left && in->is_in_long) { /* what is left of that line is none */
		end = memchr(at, '\n', left);
		left = end ? left - (size_t)(end + 1 - at) : 0;
		at = end ? end + 1 : at;
	}
	for (; left && (end = memchr(at, '\n', left)); at = end + 1) {
		if (is_cancel(m, at, (size_t)(end - at), id))
			return true;
		left -= (size_t)(end + 1 - at);
	}
	return false;
}

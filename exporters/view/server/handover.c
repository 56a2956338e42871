/* handover.c - one file, for pages of ui.perfetto.dev that know its name, once. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "exporters/view/server/guard.h"
#include "exporters/view/server/handover.h"

#ifndef SL_HAVE_LIBEVENT
int view_handover(const char *file, view_handover_ready *ready, void *ctx, char *why, size_t len)
{
	(void)file, (void)ready, (void)ctx;
	snprintf(why, len, "this program was built without libevent, which it needs");
	return -1;
}
#else
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define SITE "https://ui.perfetto.dev"
/* The only port of 127.0.0.1 that the site's content security policy allows. */
#define PORT 9001

struct handover {
	struct event_base *base;
	const char *file;
	char path[VIEW_TOKEN_LEN + 32];
};

static void on_complete(struct evhttp_request *req, void *arg)
{
	struct handover *h = arg;
	const struct timeval soon = {1, 0};

	(void)req;
	event_base_loopexit(h->base, &soon);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	struct handover *h = arg;

	(void)number, (void)what;
	event_base_loopbreak(h->base);
}

/* Only its page may read it: the browser adds the origin, and a page cannot forge it. */
static bool is_wanted(const struct handover *h, struct evhttp_request *req)
{
	const char *origin = evhttp_find_header(evhttp_request_get_input_headers(req), "Origin");
	const char *host = evhttp_find_header(evhttp_request_get_input_headers(req), "Host");

	return origin && strcmp(origin, SITE) == 0 && host && strcmp(host, "127.0.0.1:9001") == 0 &&
	       strcmp(evhttp_request_get_uri(req), h->path) == 0;
}

static void on_request(struct evhttp_request *req, void *arg)
{
	struct handover *h = arg;
	struct evkeyvalq *heads = evhttp_request_get_output_headers(req);
	struct evbuffer *body;
	struct stat st;
	int fd;

	if (!is_wanted(h, req)) {
		evhttp_send_error(req, 403, "Forbidden");
		return;
	}
	evhttp_add_header(heads, "Access-Control-Allow-Origin", SITE);
	evhttp_add_header(heads, "Access-Control-Allow-Private-Network", "true");
	evhttp_add_header(heads, "Cache-Control", "no-store");
	evhttp_add_header(heads, "Content-Type", "application/octet-stream");
	if (evhttp_request_get_command(req) == EVHTTP_REQ_OPTIONS) {
		evhttp_send_reply(req, 204, "No Content", NULL);
		return;
	}
	fd = open(h->file, O_RDONLY | O_CLOEXEC);
	body = evbuffer_new();
	if (fd < 0 || !body || fstat(fd, &st) < 0 ||
	    evbuffer_add_file(body, fd, 0, (ev_off_t)st.st_size) < 0) {
		if (fd >= 0)
			close(fd);
		evhttp_send_error(req, 500, "Internal Server Error");
	} else {
		evhttp_request_set_on_complete_cb(req, on_complete, h);
		evhttp_send_reply(req, 200, "OK", body);
	}
	if (body)
		evbuffer_free(body);
}

static int serve(struct handover *h, view_handover_ready *ready, void *ctx, const char *token)
{
	struct event *ends[2] = {evsignal_new(h->base, SIGINT, on_signal, h),
				 evsignal_new(h->base, SIGTERM, on_signal, h)};
	char address[256];

	snprintf(h->path, sizeof(h->path), "/%s.perfetto-trace", token);
	snprintf(address, sizeof(address), SITE "/#!/?url=http://127.0.0.1:%d%s", PORT, h->path);
	for (int i = 0; i < 2; i++)
		if (ends[i])
			event_add(ends[i], NULL);
	ready(ctx, address);
	event_base_dispatch(h->base);
	for (int i = 0; i < 2; i++)
		if (ends[i])
			event_free(ends[i]);
	return 0;
}

int view_handover(const char *file, view_handover_ready *ready, void *ctx, char *why, size_t len)
{
	struct handover h = {.file = file, .base = event_base_new()};
	struct evhttp *http = h.base ? evhttp_new(h.base) : NULL;
	char token[VIEW_TOKEN_LEN + 1];
	int rc = -1;

	signal(SIGPIPE, SIG_IGN);
	if (!http || view_token_make(token) < 0) {
		snprintf(why, len, "the server could not be set up");
	} else if (evhttp_bind_socket(http, "127.0.0.1", PORT) < 0) {
		snprintf(why, len, "port %d is taken, and " SITE " reads from no other", PORT);
	} else {
		evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_OPTIONS);
		evhttp_set_gencb(http, on_request, &h);
		rc = serve(&h, ready, ctx, token);
	}
	if (http)
		evhttp_free(http);
	if (h.base)
		event_base_free(h.base);
	return rc;
}
#endif

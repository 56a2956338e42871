/* http.c - requests in, replies out, in one thread; see workers.h for the answering threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/view/server/guard.h"
#include "exporters/view/server/http.h"
#include "exporters/view/server/sockets.h"
#include "collector/base/now.h"
#include "exporters/view/server/workers.h"

#ifndef SL_HAVE_LIBEVENT
bool view_http_is_built(void)
{
	return false;
}

int view_http_run(struct view_server *s, const struct view_http_options *o, char *why, size_t len)
{
	(void)s, (void)o;
	snprintf(why, len,
		 "this program was built without libevent (libevent-dev), which it needs");
	return -1;
}
#else
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <signal.h>

#define HEAD_MAX  16384
#define BODY_MAX  (1 << 20)
#define SILENCE_S 120 /* the library's own; sockets.h has the strict ones */
#define PORTS     100
#define ACTIVE    (2 * VIEW_CONNECTIONS)

static const char policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
	"img-src 'self' data: blob:; font-src 'none'; base-uri 'none'; form-action 'none'; "
	"frame-ancestors 'none'; require-trusted-types-for 'script'";

struct http {
	struct view_server *server;
	struct event_base *base;
	struct evhttp *evhttp;
	struct evconnlistener *listener;
	struct event *again; /* the listener goes on */
	struct view_workers *workers;
	struct view_sockets sockets;
	bool is_full;
	struct view_job *active[ACTIVE]; /* jobs whose connections the library may free */
	char token[VIEW_TOKEN_LEN + 1];
};

bool view_http_is_built(void)
{
	return true;
}

static int fd_of(struct evhttp_request *req)
{
	struct evhttp_connection *c = evhttp_request_get_connection(req);

	return c ? bufferevent_getfd(evhttp_connection_get_bufferevent(c)) : -1;
}

/* ---- replies ---- */

static void on_sent(struct evhttp_request *req, void *arg)
{
	struct http *h = arg;

	view_sockets_note(&h->sockets, fd_of(req), SOCKET_READING, false, mono_ns());
}

static void add_heads(struct evhttp_request *req, const char *type)
{
	static const char *const fixed[][2] = {
		{"Content-Security-Policy", policy},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Embedder-Policy", "require-corp"},
		{"Cache-Control", "no-store"},
	};
	struct evkeyvalq *heads = evhttp_request_get_output_headers(req);

	evhttp_add_header(heads, "Content-Type", type);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		evhttp_add_header(heads, fixed[i][0], fixed[i][1]);
}

static const char *reason_of(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 406:
		return "Not Acceptable";
	default:
		return "Service Unavailable";
	}
}

static void forget(const void *data, size_t len, void *arg)
{
	(void)data, (void)len;
	free(arg);
}

/* @data becomes the reply's, where it is @owned. */
static void send_reply(struct http *h, struct evhttp_request *req, int status, const char *type,
		       const char *data, size_t len, char *owned)
{
	struct evbuffer *body = evbuffer_new();

	add_heads(req, type);
	view_sockets_note(&h->sockets, fd_of(req), SOCKET_SENDING, false, mono_ns());
	evhttp_request_set_on_complete_cb(req, on_sent, h);
	if (body && evbuffer_add_reference(body, data, len, owned ? forget : NULL, owned) < 0)
		free(owned);
	evhttp_send_reply(req, status, reason_of(status), body);
	if (body)
		evbuffer_free(body);
}

static void refuse(struct http *h, struct evhttp_request *req, int status, const char *why)
{
	struct view_reply a = {0};

	view_refuse(&a, status, why);
	evhttp_add_header(evhttp_request_get_output_headers(req), "Connection", "close");
	send_reply(h, req, status, a.type, a.body.data, a.body.len, a.body.data);
}

static void on_done(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;
	struct view_job *job;

	(void)fd, (void)what;
	while ((job = view_workers_done(h->workers)) != NULL) {
		struct evhttp_request *req = job->connection;
		struct view_reply *a = &job->a;

		for (size_t i = 0; i < ACTIVE; i++)
			h->active[i] = h->active[i] == job ? NULL : h->active[i];
		if (!req) { /* the client is gone */
			view_job_free(job);
			continue;
		}
		if (a->is_deflated)
			evhttp_add_header(evhttp_request_get_output_headers(req),
					  "Content-Encoding", "deflate");
		send_reply(h, req, a->status, a->type, a->body.data, a->body.len, a->body.data);
		a->body = (struct writer){0};
		view_job_free(job);
	}
}

/* ---- requests ---- */

static const char *method_of(struct evhttp_request *req)
{
	switch (evhttp_request_get_command(req)) {
	case EVHTTP_REQ_GET:
		return "GET";
	case EVHTTP_REQ_POST:
		return "POST";
	default:
		return "other";
	}
}

/* The client went away: the answers of its jobs are dropped. */
static void on_close(struct evhttp_connection *c, void *arg)
{
	struct http *h = arg;

	for (size_t i = 0; i < ACTIVE; i++)
		if (h->active[i] && h->active[i]->connection &&
		    evhttp_request_get_connection(h->active[i]->connection) == c)
			h->active[i]->connection = NULL;
}

static bool make_active(struct http *h, struct view_job *job)
{
	for (size_t i = 0; i < ACTIVE; i++)
		if (!h->active[i]) {
			h->active[i] = job;
			return true;
		}
	return false;
}

static void give_job(struct http *h, struct evhttp_request *req, const char *path,
		     const char *query)
{
	struct evbuffer *body = evhttp_request_get_input_buffer(req);
	size_t len = evbuffer_get_length(body);
	struct view_job *job = calloc(1, sizeof(*job));

	if (job) {
		job->path = strdup(path);
		job->query = query ? strdup(query) : NULL;
		job->body = malloc(len + 1);
	}
	if (!job || !job->path || (query && !job->query) || !job->body || !make_active(h, job)) {
		view_job_free(job);
		refuse(h, req, 503, "too much at once");
		return;
	}
	evbuffer_remove(body, job->body, len);
	job->body[len] = '\0';
	job->q = (struct view_request){
		.server = h->server,
		.is_post = evhttp_request_get_command(req) == EVHTTP_REQ_POST,
		.path = job->path,
		.query = job->query,
		.body = job->body,
		.len = len,
	};
	job->connection = req;
	evhttp_connection_set_closecb(evhttp_request_get_connection(req), on_close, h);
	view_sockets_note(&h->sockets, fd_of(req), SOCKET_WORKING, true, mono_ns());
	view_workers_do(h->workers, job);
}

static void on_request(struct evhttp_request *req, void *arg)
{
	struct http *h = arg;
	struct evkeyvalq *in = evhttp_request_get_input_headers(req);
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL, *why = NULL, *type, *text;
	const struct view_heads heads = {
		method_of(req), evhttp_find_header(in, "Host"), evhttp_find_header(in, "Origin"),
		evhttp_find_header(in, "Sec-Fetch-Site"), evhttp_find_header(in, "Authorization")};
	const char *encodings = evhttp_find_header(in, "Accept-Encoding");
	bool is_message = path && strncmp(path, "/v1/", 4) == 0, is_gzip = false;
	size_t len;
	int status = view_guard(&heads, is_message ? h->token : NULL, &why);

	if (status) {
		refuse(h, req, status, why);
		return;
	}
	if (is_message) {
		give_job(h, req, path, evhttp_uri_get_query(uri));
		return;
	}
	text = path ? view_asset(path, &len, &type, &is_gzip) : NULL;
	if (!text) {
		refuse(h, req, 404, "there is nothing of that name");
		return;
	}
	if (is_gzip && !(encodings && strstr(encodings, "gzip"))) {
		refuse(h, req, 406, "this part of the page is there in gzip alone");
		return;
	}
	if (is_gzip)
		evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Encoding",
				  "gzip");
	send_reply(h, req, 200, type, text, len, NULL);
}

/* ---- connections ---- */

static void look(struct http *h)
{
	bool is_full = view_sockets_look(&h->sockets, mono_ns()) >= VIEW_CONNECTIONS;

	if (is_full == h->is_full)
		return;
	h->is_full = is_full;
	/* Further ones wait where the kernel keeps them. */
	if (is_full)
		evconnlistener_disable(h->listener);
	else
		evconnlistener_enable(h->listener);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;

	(void)fd, (void)what;
	if (!h->is_full)
		evconnlistener_enable(h->listener);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	look(arg);
}

/* Called for each new connection. */
static struct bufferevent *on_connection(struct event_base *base, void *arg)
{
	struct http *h = arg;

	look(h);
	/* Accepts one connection, then serves the others: the library would accept as long as there are new ones. */
	evconnlistener_disable(h->listener);
	event_active(h->again, EV_TIMEOUT, 0);
	return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	struct http *h = arg;

	(void)number, (void)what;
	event_base_loopbreak(h->base);
}

/* ---- set-up ---- */

static int listen_on(struct http *h, const struct view_http_options *o)
{
	for (int port = o->port; port < o->port + (o->is_fixed ? 1 : PORTS) && port < 65536;
	     port++) {
		struct evhttp_bound_socket *bound =
			evhttp_bind_socket_with_handle(h->evhttp, "127.0.0.1", (uint16_t)port);
		struct sockaddr_in sin = {0};
		socklen_t len = sizeof(sin);

		if (!bound)
			continue;
		h->listener = evhttp_bound_socket_get_listener(bound);
		getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&sin, &len);
		return ntohs(sin.sin_port);
	}
	return -1;
}

static int set_up(struct http *h, int *ready)
{
	h->base = event_base_new();
	h->evhttp = h->base ? evhttp_new(h->base) : NULL;
	h->workers = view_workers_new(ready);
	if (!h->evhttp || !h->workers || view_token_make(h->token) < 0)
		return -1;
	evhttp_set_max_headers_size(h->evhttp, HEAD_MAX);
	evhttp_set_max_body_size(h->evhttp, BODY_MAX);
	/*
	 * A client that still sends when its connection closes gets a reset in place of the reply: a body that is too long is
	 * read and dropped before it is refused, for as long as a request may take (sockets.h).
	 */
	if (evhttp_set_flags(h->evhttp, EVHTTP_SERVER_LINGERING_CLOSE) != 0)
		return -1;
	evhttp_set_timeout(h->evhttp, SILENCE_S);
	evhttp_set_allowed_methods(h->evhttp, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
						      EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
						      EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
	evhttp_set_gencb(h->evhttp, on_request, h);
	evhttp_set_bevcb(h->evhttp, on_connection, h);
	return 0;
}

static int serve(struct http *h, const struct view_http_options *o, int ready, int port)
{
	struct event *events[5] = {
		event_new(h->base, ready, EV_READ | EV_PERSIST, on_done, h),
		event_new(h->base, -1, EV_PERSIST, on_tick, h),
		evsignal_new(h->base, SIGINT, on_signal, h),
		evsignal_new(h->base, SIGTERM, on_signal, h),
		event_new(h->base, -1, 0, on_again, h),
	};
	const struct timeval tick = {0, 250000};
	int rc = 0;

	h->again = events[4];
	if (!h->again)
		rc = -1;
	for (int i = 0; i < 4; i++)
		if (!events[i] || event_add(events[i], i == 1 ? &tick : NULL) < 0)
			rc = -1;
	if (rc == 0) {
		o->listening(o->ctx, port, h->token);
		event_base_dispatch(h->base);
	}
	for (int i = 0; i < 5; i++)
		if (events[i])
			event_free(events[i]);
	return rc;
}

int view_http_run(struct view_server *s, const struct view_http_options *o, char *why, size_t len)
{
	struct http *h = calloc(1, sizeof(*h));
	int ready = -1, port = -1, rc = -1;

	if (!h)
		return -1;
	h->server = s;
	/* A browser may drop a connection at any time. */
	signal(SIGPIPE, SIG_IGN);
	/* A file beyond the limit on sizes is an error of the write. */
	signal(SIGXFSZ, SIG_IGN);
	if (set_up(h, &ready) < 0)
		snprintf(why, len, "the server could not be set up");
	else if ((port = listen_on(h, o)) < 0)
		snprintf(why, len, "port %d is taken%s", o->port,
			 o->is_fixed ? "" : ", and so are the 99 after it");
	else
		rc = serve(h, o, ready, port);
	__atomic_store_n(&s->stop, true, __ATOMIC_RELAXED);
	/* The library owns requests that workers still have: it is freed after them. */
	if (!view_workers_free(h->workers))
		return 1;
	memset(h->active, 0, sizeof(h->active));
	if (h->evhttp)
		evhttp_free(h->evhttp);
	if (h->base)
		event_base_free(h->base);
	free(h);
	return rc;
}
#endif

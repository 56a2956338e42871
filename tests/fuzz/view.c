/* view.c - what the page of sightline view, or what claims to be it, may send. */
#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "collector/base/embed.h"
#include "exporters/view/server/route.h"
#include "exporters/view/build/build.h"
#include "exporters/view/server/guard.h"
#include "exporters/view/server/http.h"
#include "exporters/view/answers/answer.h"

/* ---- a small report ---- */

static const char rows[] =
	"INSERT INTO StringIds VALUES(1, 'read'), (2, 'cudaLaunchKernel'), (3, 'kernel');"
	"INSERT INTO PROCESSES(globalPid, pid, name) VALUES(281474993487872, 1, 'a');"
	"WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c WHERE n < 200) INSERT "
	"INTO OSRT_API "
	"SELECT n * 100, n * 100 + 70, 27, 281474993487873, 1, 0, 0, 0, 0, NULL, NULL, NULL, NULL, "
	"NULL, NULL, NULL FROM c;"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(50, 90, 0, 281474993487873, 5, 2, 0, NULL);"
	"INSERT INTO SCHED_EVENTS VALUES(10, 0, 1, 281474993487873, NULL, NULL), (500, 0, 0, "
	"281474993487873, 2, NULL),"
	"(900, 0, 1, 281474993487873, NULL, NULL);"
	"INSERT INTO SL_SCHED_DETAIL VALUES(900, 281474993487873, NULL, 800, 281474993487873, "
	"120);";

static struct view_report report = {.lock = PTHREAD_MUTEX_INITIALIZER,
				    .why_lock = PTHREAD_MUTEX_INITIALIZER};
static struct view_server server = {.reports = &report, .report_cnt = 1};

static void init(void)
{
	static const bool go_on;
	char path[128];
	sqlite3 *db;

	if (report.store)
		return;
	snprintf(path, sizeof(path), "%s/view.sqlite", fuzz_dir());
	if (sqlite3_open(path, &db) != SQLITE_OK)
		abort();
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, "schema.sql") == 0 &&
		    sqlite3_exec(db, e->text, NULL, NULL, NULL) != SQLITE_OK)
			abort();
	if (sqlite3_exec(db, rows, NULL, NULL, NULL) != SQLITE_OK)
		abort();
	sqlite3_close(db);
	report.store = view_store_new(path);
	if (view_build(report.store, &go_on) < 0 || report.store->events == 0)
		abort();
}

/* ---- messages: a line with the path and the query, then the body ---- */

/* A path is one byte, its number here: most changes are to what follows it. Others are read as they are. */
static const char *const paths[] = {
	"/v1/report", "/v1/live",     "/v1/event",  "/v1/flow",  "/v1/search",   "/v1/why",
	"/v1/schema", "/v1/select",   "/v1/save",   "/v1/tiles", "/v1/counters", "/v1/sql",
	"/v1/track",  "/v1/findings", "/v1/events", "/v1/steps", "/v1/notes",    "/v1/locks"};
#define PATHS (sizeof(paths) / sizeof(paths[0]))

static void run_message(const uint8_t *data, size_t len)
{
	const uint8_t *line = memchr(data, '\n', len);
	size_t head = line ? (size_t)(line - data) : len;
	char *address = strndup((const char *)data, head), *query;
	struct view_request q = {.server = &server};
	struct view_reply a;

	if (head > 0 && data[0] > 0 && data[0] <= PATHS) {
		q.path = paths[data[0] - 1];
		query = address + 1;
	} else {
		q.path = address;
		query = strchr(address, '?');
		if (query)
			*query++ = '\0';
	}
	q.query = query;
	q.is_post = line != NULL;
	/* A copy that ends where it ends. */
	q.len = line ? len - head - 1 : 0;
	q.body = malloc(q.len + 1);
	if (q.len)
		memcpy((uint8_t *)q.body, line + 1, q.len);
	((uint8_t *)q.body)[q.len] = 0;
	/* Statements end at the first look at the clock; a wait for news ends at once. */
	server.stop = true;
	view_route(&q, &a);
	if (a.status != 200 && (a.body.len == 0 || a.body.data[0] != '{'))
		abort();
	writer_free(&a.body);
	free((void *)q.body);
	free(address);
}

static size_t message_seed(const char *const *texts, unsigned i, uint8_t *to)
{
	size_t len = fuzz_text_seed(texts, i, to);

	for (size_t p = 0; p < PATHS; p++) {
		size_t path = strlen(paths[p]), query = path + (path < len && to[path] == '?');

		if (len >= path && memcmp(to, paths[p], path) == 0) {
			memmove(to + 1, to + query, len - query);
			to[0] = (uint8_t)(p + 1);
			return len - query + 1;
		}
	}
	return len;
}

static size_t seed_message(unsigned i, uint8_t *to)
{
	static const char *const texts[] = {
		"/v1/report?r=0",
		"/v1/report?r=0&gen=1",
		"/v1/live?gen=2",
		"/v1/event?lane=1&t=0&dt=100&dir=1",
		"/v1/event?lane=2&t=90&dir=-1",
		"/v1/flow?table=CUPTI_ACTIVITY_KIND_RUNTIME&rowid=1",
		"/v1/flow?table=SCHED_EVENTS&rowid=3",
		"/v1/search?q=%3Dread&t=5&dir=-1&lanes=1,2&all=1",
		"/v1/why?row=3&from=0&to=1000",
		"/v1/why?lane=1&t=20",
		"/v1/track?row=3&from=0&to=1000",
		"/v1/findings",
		"/v1/steps",
		"/v1/notes",
		"/v1/locks",
		"/v1/events?name=!=read%0Awr&min=5&max=900&by=1&down=1&most=3&arg=x\n{\"from\":0}",
		"/v1/events?name=/^a(b%7Cc)*$\n{\"lanes\":[1]}",
		"/v1/schema",
		"/v1/select\n{\"from\":0,\"to\":5000,\"lanes\":[1,2]}",
		"/v1/select\n{\"table\":\"flame\",\"lanes\":[]}",
		"/v1/save\n{\"from\":1.5e2,\"to\":900}",
		"/v1/nothing?r=0",
		NULL,
	};

	return message_seed(texts, i, to);
}

const struct fuzz_target fuzz_view_message = {"view_message", run_message, seed_message, init};

/* Apart from the others: each statement has a handle of its own, which takes fifty times as long as they do. */
static size_t seed_sql(unsigned i, uint8_t *to)
{
	static const char *const texts[] = {
		"/v1/sql\nWITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT "
		"count(*) FROM c",
		"/v1/sql\nATTACH '/tmp/x' AS y",
		"/v1/sql\nSELECT *, sl_stats(nameId, end - start) FROM OSRT_API",
		NULL,
	};

	return message_seed(texts, i, to);
}

const struct fuzz_target fuzz_view_sql = {"view_sql", run_message, seed_sql, init};

/* ---- tiles ---- */

static void run_tiles(const uint8_t *data, size_t len)
{
	for (int i = 0; i < 2; i++) {
		struct view_request q = {.server = &server,
					 .is_post = true,
					 .path = i ? "/v1/counters" : "/v1/tiles",
					 .query = len % 32 ? NULL : "z=1",
					 .body = data,
					 .len = len};
		struct view_reply a;

		view_route(&q, &a);
		writer_free(&a.body);
	}
}

static size_t seed_tiles(unsigned i, uint8_t *to)
{
	if (i > 20)
		return 0;
	memset(to, 0, 32);
	to[0] = (uint8_t)(1 + i % 5);
	to[4] = (uint8_t)(3 * i);
	to[16] = 1;
	to[24] = 1;
	return i % 2 ? 16 : 32;
}

const struct fuzz_target fuzz_view_tiles = {"view_tiles", run_tiles, seed_tiles, init};

/* ---- heads of requests ---- */

static void run_guard(const uint8_t *data, size_t len)
{
	static const char token[] = "00112233445566778899aabbccddeeff";
	char *text = strndup((const char *)data, len), *rest = text, *field[5] = {NULL};
	struct view_heads h;
	const char *why = NULL;
	int status;

	for (int i = 0; i < 5 && rest; i++)
		field[i] = strsep(&rest, "\n");
	h = (struct view_heads){field[0] ? field[0] : "", field[1], field[2], field[3], field[4]};
	status = view_guard(&h, token, &why);
	/* Whatever it looks like, without the token there is no way in. */
	if (status == 0 && (!h.authorization || !strstr(h.authorization, token)))
		abort();
	free(text);
}

static size_t seed_guard(unsigned i, uint8_t *to)
{
	static const char *const texts[] = {
		"GET\n127.0.0.1:8420\nhttp://127.0.0.1:8420\nsame-origin\nBearer "
		"00112233445566778899aabbccddeeff",
		"POST\n[::1]:1\n\nnone\nBearer 00112233445566778899aabbccddeefe",
		"GET\nlocalhost\nnull\ncross-site\nBasic x",
		NULL,
	};

	return fuzz_text_seed(texts, i, to);
}

const struct fuzz_target fuzz_view_guard = {"view_guard", run_guard, seed_guard, NULL};

/* ---- what comes in at the port: heads and bodies as bytes, and connections that end anywhere ---- */

#define TOKEN "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@" /* in its place the server's */

static pthread_mutex_t port_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t port_known = PTHREAD_COND_INITIALIZER;
static int port;
static char port_token[VIEW_TOKEN_LEN + 1];

static void on_port(void *ctx, int number, const char *token)
{
	(void)ctx;
	pthread_mutex_lock(&port_lock);
	port = number;
	snprintf(port_token, sizeof(port_token), "%s", token);
	pthread_cond_signal(&port_known);
	pthread_mutex_unlock(&port_lock);
}

static void *serve(void *unused)
{
	const struct view_http_options o = {.port = 0, .is_fixed = true, .listening = on_port};
	char why[256];

	(void)unused;
	if (view_http_run(&server, &o, why, sizeof(why)) < 0)
		abort();
	return NULL;
}

/* Replies up to the end of the connection; how many bytes are kept. */
static size_t exchange(const uint8_t *data, size_t len, char *reply, size_t room)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	const struct linger reset = {1, 0};
	const struct timeval most = {5, 0};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t kept = 0;
	ssize_t got;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		abort();
	/* It may be closed before all is sent. */
	if (send(fd, data, len, MSG_NOSIGNAL) > 0)
		shutdown(fd, SHUT_WR);
	while (kept < room && (got = recv(fd, reply + kept, room - kept, 0)) > 0)
		kept += (size_t)got;
	close(fd);
	return kept;
}

static void run_http(const uint8_t *data, size_t len)
{
	static const char plain[] =
		"GET /v1/schema HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
		"Authorization: Bearer " TOKEN "\r\n\r\n";
	static char reply[65536];
	static unsigned cnt;
	bool is_plain = cnt++ % 256 == 0;
	char *copy = is_plain ? strdup(plain) : malloc(len + 1), *at;
	bool has_token = false;
	size_t got;

	if (!is_plain) {
		memcpy(copy, data, len);
		copy[len] = '\0';
	} else {
		len = sizeof(plain) - 1;
	}
	while ((at = memmem(copy, len, TOKEN, VIEW_TOKEN_LEN)) != NULL) {
		memcpy(at, port_token, VIEW_TOKEN_LEN);
		has_token = true;
	}
	got = exchange((uint8_t *)copy, len, reply, sizeof(reply));
	/* Others are answered still; and nothing of the report goes where the token was not sent. */
	if (is_plain && (got < 12 || memcmp(reply, "HTTP/1.1 200", 12) != 0))
		abort();
	if (!has_token && memmem(reply, got, "OSRT_API", 8))
		abort();
	free(copy);
}

static void init_http(void)
{
	pthread_t thread;

	init();
	if (!view_http_is_built())
		return;
	if (pthread_create(&thread, NULL, serve, NULL) != 0)
		abort();
	pthread_detach(thread);
	pthread_mutex_lock(&port_lock);
	while (port == 0)
		pthread_cond_wait(&port_known, &port_lock);
	pthread_mutex_unlock(&port_lock);
}

static size_t seed_http(unsigned i, uint8_t *to)
{
#define HEADS "Host: 127.0.0.1:1\r\nConnection: close\r\nAuthorization: Bearer " TOKEN "\r\n"
	static const char *const texts[] = {
		"GET /v1/schema HTTP/1.1\r\n" HEADS "\r\n",
		"GET /v1/report?r=0 HTTP/1.1\r\n" HEADS "Sec-Fetch-Site: same-origin\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /app.js HTTP/1.1\r\nHost: "
		"localhost\r\nConnection: close\r\n\r\n",
		"POST /v1/sql HTTP/1.1\r\n" HEADS "Content-Length: 20\r\n\r\nSELECT * FROM SL_ANY",
		"POST /v1/select HTTP/1.1\r\n" HEADS "Transfer-Encoding: "
		"chunked\r\n\r\n6\r\n{\"from\r\n10\r\n\":0,\"lanes\":[1]}\r\n0\r\n\r\n",
		"POST /v1/tiles?z=1 HTTP/1.0\r\n" HEADS "Expect: 100-continue\r\nContent-Length: "
		"16\r\n\r\n\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1",
		"OPTIONS * HTTP/1.1\r\nHost: [::1]\r\nOrigin: http://[::1]\r\n\r\n",
		"GET http://localhost/v1/event?lane=1&t=0 HTTP/1.1\r\n" HEADS "X: a\r\n b\r\n\r\n",
		NULL,
	};
#undef HEADS

	return view_http_is_built() ? fuzz_text_seed(texts, i, to) : i == 0;
}

static void run_port(const uint8_t *data, size_t len)
{
	if (view_http_is_built())
		run_http(data, len);
}

const struct fuzz_target fuzz_view_http = {"view_http", run_port, seed_http, init_http};

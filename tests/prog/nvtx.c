/*
 * nvtx.c - does everything NVTX can, and prints what it did: one line per row that must be in the report, no more and
 * no less, in the columns that tests/e2e/trace/nvtx.py names. Times are CLOCK_MONOTONIC before and after each call.
 *
 *   nvtx truth RANGES   the lot: 8 threads, nesting 10 deep, 8 domains, RANGES ranges
 *   nvtx open           ranges that stay open; then waits to be killed
 *   nvtx fork           a child goes on in its parent's domain
 *   nvtx payload        extended payloads
 *   nvtx name           names of things
 *   nvtx loop N         N ranges as fast as it goes; prints ns per push and pop
 *   nvtx counters N     N samples of each of two counters, and as many without a value
 *   nvtx levels         prints what push and pop answer
 *   nvtx wait FILE      two ranges are open until FILE is there; then a third, and all end
 *   nvtx chain          what the other injection library knows (lib/nvtx_other.c)
 */
#include <pthread.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/prog/nvtx_loader.h"

#define THREADS 8
#define DEEP    10
#define DOMAINS 8
#define CROSS   200

static void *domain[DOMAINS + 1];
static const char *const domain_name[DOMAINS + 1] = {"-",       "alpha", "beta", "gamma", "delta",
						     "epsilon", "zeta",  "eta",  "theta"};

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int tid(void)
{
	return (int)syscall(SYS_gettid);
}

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "nvtx: %s\n", what);
	exit(3);
}

/* What is known of one event until it is over. */
struct note {
	int type, tid, domain;
	uint32_t category;
	char color[12], payload[40], text[64];
	int registered;
	int64_t s0, s1;
	uint64_t id;
};

static void tell(FILE *out, const struct note *n, int end_tid, int64_t e0, int64_t e1)
{
	fprintf(out, "%d\t%d\t%d\t%s\t%u\t%s\t%s\t%d\t%s\t%lld\t%lld\t%lld\t%lld\n", n->type,
		n->tid, end_tid, domain_name[n->domain], n->category, n->color, n->payload,
		n->registered, n->text, (long long)n->s0, (long long)n->s1, (long long)e0,
		(long long)e1);
}

/* An event of each kind in turn: message inline, wide or registered; colour; category; all types of payload. */
static struct nvtx_attr make(struct note *n, unsigned i, wchar_t *wide)
{
	static __thread char color[12];
	struct nvtx_attr a = attr_of(1, n->text);

	(void)color;
	n->domain = (int)(i % (DOMAINS + 1));
	n->registered = i % 3 == 1;
	n->tid = tid();
	snprintf(n->text, sizeof(n->text), n->registered ? "registered %u" : "range %u",
		 n->registered ? i % 50 : i);
	if (n->registered) {
		a.message_type = 3;
		a.message = string_register(domain[n->domain], n->text);
		need(a.message == string_register(domain[n->domain], n->text),
		     "a string registered again is not the same");
	} else if (i % 5 == 2) {
		snprintf(n->text, sizeof(n->text), "weit \xc3\xa4\xe2\x82\xac\xf0\x9d\x84\x9e %u",
			 i);
		swprintf(wide, 64, L"weit \u00e4\u20ac\U0001d11e %u", i);
		a.message_type = 2;
		a.message = wide;
	}
	a.category = n->category = i % 4;
	snprintf(n->color, sizeof(n->color), "-");
	if (i % 2) {
		a.color_type = 1;
		a.color = 0xff000000u | i;
		snprintf(n->color, sizeof(n->color), "%u", a.color);
	}
	a.payload_type = (int)(i % 7);
	snprintf(n->payload, sizeof(n->payload), "-");
	switch (i % 7) {
	case 1:
		a.payload.u64 = UINT64_MAX - i;
		snprintf(n->payload, sizeof(n->payload), "uint64Value=%lld",
			 (long long)a.payload.u64);
		break;
	case 2:
		a.payload.i64 = INT64_MIN + i;
		snprintf(n->payload, sizeof(n->payload), "int64Value=%lld",
			 (long long)a.payload.i64);
		break;
	case 3:
		a.payload.f64 = i + 0.25;
		snprintf(n->payload, sizeof(n->payload), "doubleValue=%u.25", i);
		break;
	case 4:
		a.payload.u32 = UINT32_MAX - i;
		snprintf(n->payload, sizeof(n->payload), "uint32Value=%u", a.payload.u32);
		break;
	case 5:
		a.payload.i32 = -(int)i;
		snprintf(n->payload, sizeof(n->payload), "int32Value=%d", a.payload.i32);
		break;
	case 6:
		a.payload.f32 = (float)(i % 1000) + 0.5f;
		snprintf(n->payload, sizeof(n->payload), "floatValue=%u.5", i % 1000);
		break;
	}
	return a;
}

static uint64_t cross[CROSS]; /* ranges that one thread starts and the next ends */
static struct note cross_note[CROSS];

struct worker {
	unsigned first, cnt;
	FILE *out;
	char *text;
	size_t len;
};

/* DEEP ranges inside each other, each in a domain of its own or the same; a mark in the middle. */
static void nest(struct worker *w, unsigned i, unsigned depth)
{
	struct note n = {.type = 59};
	wchar_t wide[64];
	struct nvtx_attr a = make(&n, i, wide);
	int64_t e0;

	n.s0 = now();
	need(push_ex(domain[n.domain], &a) >= 0, "push fails");
	n.s1 = now();
	if (depth + 1 < DEEP && i + 1 < w->first + w->cnt) {
		nest(w, i + 1, depth + 1);
	} else {
		struct note m = {.type = 34};
		struct nvtx_attr b = make(&m, i, wide);

		m.s0 = now();
		mark_ex(domain[m.domain], &b);
		m.s1 = now();
		tell(w->out, &m, 0, -1, -1);
	}
	e0 = now();
	need(pop_ex(domain[n.domain]) >= 0, "pop fails");
	tell(w->out, &n, 0, e0, now());
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (unsigned i = w->first; i < w->first + w->cnt; i += DEEP)
		nest(w, i, 0);
	return NULL;
}

static void *end_others(void *arg)
{
	struct worker *w = arg;

	for (int i = CROSS - 1; i >= 0; i--) {
		struct note *n = &cross_note[i];
		int64_t e0 = now();

		if (n->domain)
			end_ex(domain[n->domain], cross[i]);
		else
			CORE(7, void (*)(uint64_t))(cross[i]);
		tell(w->out, n, tid(), e0, now());
	}
	return NULL;
}

static void cross_threads(struct worker *w)
{
	pthread_t t;
	wchar_t wide[64];

	for (unsigned i = 0; i < CROSS; i++) {
		struct note *n = &cross_note[i];
		struct nvtx_attr a = make(n, i, wide);

		n->type = 60;
		n->s0 = now();
		cross[i] = n->domain ? start_ex(domain[n->domain], &a)
				     : CORE(4, uint64_t(*)(const struct nvtx_attr *))(&a);
		n->s1 = now();
		need(cross[i] != 0, "start fails");
	}
	for (unsigned i = 1; i < CROSS; i++)
		need(cross[i] != cross[i - 1], "range ids are not unique");
	pthread_create(&t, NULL, end_others, w);
	pthread_join(t, NULL);
}

static void name_row(int type, int dom, uint32_t category, const char *text, int64_t s0)
{
	struct note n = {.type = type, .tid = tid(), .domain = dom, .category = category, .s0 = s0};

	snprintf(n.text, sizeof(n.text), "%s", text);
	snprintf(n.color, sizeof(n.color), "-");
	snprintf(n.payload, sizeof(n.payload), "-");
	n.s1 = now();
	tell(stdout, &n, 0, -1, -1);
}

static void make_domains(int cnt)
{
	for (int i = 1; i <= cnt; i++) {
		int64_t s0 = now();

		domain[i] = domain_create(domain_name[i]);
		need(domain[i] != NULL, "no domain");
		name_row(75, i, 0, domain_name[i], s0);
		s0 = now();
		CORE2(8, void (*)(void *, uint32_t, const char *))(domain[i], 1, "kind one");
		name_row(33, i, 1, "kind one", s0);
	}
}

/* The functions that take no structure. */
static void plain(void)
{
	struct note n = {.type = 59, .tid = tid()};
	int64_t s0 = now(), e0;
	uint64_t id;

	CORE(12, void (*)(uint32_t, const char *))(3, "kind three");
	name_row(33, 0, 3, "kind three", s0);
	snprintf(n.color, sizeof(n.color), "-");
	snprintf(n.payload, sizeof(n.payload), "-");
	n.s0 = now();
	need(push("plain") == 0, "the first level is not 0");
	n.s1 = now();
	need(CORE(10, int (*)(const wchar_t *))(L"pl\u00e4in") == 1, "the second level is not 1");
	need(pop() == 1, "pop does not answer 1");
	snprintf(n.text, sizeof(n.text), "plain");
	e0 = now();
	need(pop() == 0, "pop does not answer 0");
	tell(stdout, &n, 0, e0, now());
	snprintf(n.text, sizeof(n.text), "pl\xc3\xa4in");
	tell(stdout, &n, 0, n.s0, now());
	n.type = 34;
	snprintf(n.text, sizeof(n.text), "mark");
	n.s0 = now();
	CORE(2, void (*)(const char *))("mark");
	n.s1 = now();
	tell(stdout, &n, 0, -1, -1);
	n.type = 60;
	snprintf(n.text, sizeof(n.text), "start");
	n.s0 = now();
	id = CORE(5, uint64_t(*)(const char *))("start");
	n.s1 = now();
	CORE(7, void (*)(uint64_t))(id);
	tell(stdout, &n, tid(), n.s0, now());
	need(pop() < 0, "a pop without a push answers a level");
}

static int truth(unsigned ranges)
{
	struct worker w[THREADS + 1];
	pthread_t t[THREADS];

	make_domains(DOMAINS);
	plain();
	for (int i = 0; i <= THREADS; i++) {
		w[i].first = (unsigned)i * (ranges / THREADS);
		w[i].cnt = ranges / THREADS;
		w[i].out = open_memstream(&w[i].text, &w[i].len);
	}
	cross_threads(&w[THREADS]);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, &w[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i <= THREADS; i++) {
		fclose(w[i].out);
		fwrite(w[i].text, 1, w[i].len, stdout);
	}
	return 0;
}

static void open_ranges(void)
{
	struct nvtx_attr a = attr_of(1, "started");

	make_domains(1);
	push("outer");
	a.message = "inner";
	push_ex(domain[1], &a);
	a.message = "started";
	start_ex(domain[1], &a);
	push("closed");
	pop();
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

static int wait_inside(const char *file)
{
	struct nvtx_attr a;
	uint64_t id;

	make_domains(1);
	a = attr_of(3, string_register(domain[1], "registered before"));
	push("outer");
	push("inner");
	id = start_ex(domain[1], &a);
	fflush(stdout);
	printf("ready\n");
	fflush(stdout);
	while (access(file, F_OK) != 0)
		usleep(20000);
	push_ex(domain[1], &a);
	pop_ex(domain[1]);
	end_ex(domain[1], id);
	pop();
	pop();
	return 0;
}

static int fork_child(void)
{
	void *s;
	struct nvtx_attr a;
	int status;

	make_domains(2);
	fflush(stdout);
	s = string_register(domain[1], "known before the fork");
	a = attr_of(3, s);
	push("parent's");
	if (fork() == 0) {
		push_ex(domain[1], &a);
		pop_ex(domain[1]);
		domain[3] = domain_create("child's own");
		a = attr_of(3, string_register(domain[3], "known after it"));
		mark_ex(domain[3], &a);
		/* Inside of the parent's range, which is open here, too. */
		_exit(!(push("child") == 1 && pop() == 1 && pop() == 0 && pop() < 0));
	}
	wait(&status);
	pop();
	domain[3] = domain_create("parent's own");
	a = attr_of(1, "after");
	mark_ex(domain[3], &a);
	return status != 0;
}

static int payload(void)
{
	struct data {
		int32_t i;
		double d;
		char name[8];
		uint16_t list[3];
		uint64_t mode;
		struct {
			uint8_t r, g, b;
		} color;
		float f;
		void *registered;
	} d = {-5, 2.5, "abc\"", {1, 2, 3}, 2, {10, 20, 30}, 0.5f, NULL};
	static const struct nvtx_value value[] = {{"slow", 1, 0}, {"fast", 2, 0}};
	static const struct nvtx_enum e = {
		1 << 1 | 1 << 2 | 1 << 3 | 1 << 4, "mode", value, 2, 8, 0, NULL};
	static const struct nvtx_entry rgb[] = {
		{.type = 12, .name = "r"}, {.type = 12, .name = "g"}, {.type = 12, .name = "b"}};
	struct nvtx_schema s = {.mask = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 8,
				.name = "rgb",
				.type = 1,
				.entry = rgb,
				.entries = 3,
				.id = 1 << 24 | 7};
	struct nvtx_entry entry[9] = {
		{.type = 15, .name = "i", .description = "an integer"},
		{.type = 20, .name = "d"},
		{.type = 75, .detail = 8, .name = "name"},
		{.flags = 1 << 4, .type = 14, .detail = 3, .name = "list"},
		{.name = "mode"},
		{.name = "color"},
		{.type = 19, .name = "f"},
		{.type = 80, .name = "registered"},
	};
	uint64_t (*schema)(void *, const struct nvtx_schema *) =
		(uint64_t(*)(void *, const struct nvtx_schema *))nvtx_ext[1];
	uint64_t (*enumeration)(void *, const struct nvtx_enum *) =
		(uint64_t(*)(void *, const struct nvtx_enum *))nvtx_ext[2];
	void (*mark_blobs)(void *, const struct nvtx_blob *, size_t) =
		(void (*)(void *, const struct nvtx_blob *, size_t))nvtx_ext[3];
	int (*push_blobs)(void *, const struct nvtx_blob *, size_t) =
		(int (*)(void *, const struct nvtx_blob *, size_t))nvtx_ext[4];
	int (*pop_blobs)(void *, const struct nvtx_blob *, size_t) =
		(int (*)(void *, const struct nvtx_blob *, size_t))nvtx_ext[5];
	struct nvtx_blob blob[2];
	struct nvtx_attr a = attr_of(1, "with payload");
	uint64_t color, all;
	int64_t number = -77;

	need(schema && enumeration && mark_blobs && push_blobs && pop_blobs,
	     "no payload extension");
	domain[1] = domain_create("payloads");
	entry[4].type = enumeration(domain[1], &e);
	color = schema(domain[1], &s);
	need(color == (1 << 24 | 7), "a schema does not get the id it asked for");
	entry[5].type = color;
	s = (struct nvtx_schema){.mask = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6,
				 .name = "all",
				 .type = 1,
				 .entry = entry,
				 .entries = 8,
				 .bytes = sizeof(d)};
	all = schema(domain[1], &s);
	need(all >= UINT64_C(1) << 32 && entry[4].type >= UINT64_C(1) << 32,
	     "ids are not the tool's");
	d.registered = string_register(domain[1], "a registered one");
	blob[0] = (struct nvtx_blob){all, sizeof(d), &d};
	a.payload_type = (int32_t)0xdfbd0009;
	a.blobs = 1;
	a.payload.u64 = (uintptr_t)blob;
	push_ex(domain[1], &a);
	pop_ex(domain[1]);
	blob[0] = (struct nvtx_blob){17, sizeof(number), &number};
	blob[1] = (struct nvtx_blob){75, SIZE_MAX, "a string"};
	mark_blobs(domain[1], blob, 2);
	blob[0] = (struct nvtx_blob){UINT64_C(1) << 40, 4, "\x01\x02\xfe\xff"};
	a.message = "unknown";
	mark_ex(domain[1], &a);
	push_blobs(domain[1], blob + 1, 1);
	blob[0] = (struct nvtx_blob){17, sizeof(number), &number};
	pop_blobs(domain[1], blob, 1);
	return 0;
}

static int names(void)
{
	struct nvtx_resource r = {0, sizeof(r), 1 << 16 | 1, 0x1234, 1, "a pointer"};
	void *handle;

	CORE(14, void (*)(uint32_t, const char *))((uint32_t)tid(), "main thread");
	CORE(15, void (*)(uint32_t, const wchar_t *))(4711, L"other thread");
	NVTX(4, 1, void (*)(int, const char *))(1, "second GPU");
	NVTX(4, 3, void (*)(void *, const char *))((void *)0xabc, "copy stream");
	NVTX(2, 5, void (*)(void *, const char *))((void *)0xdef, "driver stream");
	handle = CORE2(6, void *(*)(void *, struct nvtx_resource *))(NULL, &r);
	need(handle != NULL, "no resource");
	CORE2(7, void (*)(void *))(handle);
	domain[1] = domain_create("short");
	CORE2(14, void (*)(void *))(domain[1]);
	return 0;
}

static int levels(void)
{
	struct nvtx_attr a = attr_of(1, "x");

	domain[1] = domain_create("other");
	for (int i = 0; i < 3; i++)
		printf("%d %d\n", push("a"), push_ex(domain[1], &a));
	for (int i = 0; i < 3; i++)
		printf("%d %d\n", pop(), pop_ex(domain[1]));
	return 0;
}

/* Prints levels, and ids, so that whose they are can be seen. */
static int chain(void)
{
	struct nvtx_attr a;
	uint64_t id;

	domain[1] = domain_create("chained");
	printf("%d", push("chained push"));
	printf(" %d\n", pop());
	a = attr_of(3, string_register(domain[1], "chained string"));
	mark_ex(domain[1], &a);
	id = start_ex(domain[1], &a);
	end_ex(domain[1], id);
	printf("%d\n", id >= 7000);
	printf("%d", push_ex(domain[1], &a));
	printf(" %d\n", pop_ex(domain[1]));
	return 0;
}

static int loop(unsigned cnt)
{
	int64_t begun = now();

	for (unsigned i = 0; i < cnt; i++) {
		push("a range of the usual length");
		pop();
	}
	printf("%.1f\n", (double)(now() - begun) / (2.0 * cnt));
	return 0;
}

static int counters(unsigned cnt)
{
	intptr_t slot[6] = {0};

	if (!nvtx_load_counters(slot))
		return 3;
	for (unsigned i = 0; i < cnt; i++) {
		((void (*)(void *, uint64_t, int64_t))slot[1])(NULL, 1, i);
		((void (*)(void *, uint64_t, double))slot[2])(NULL, 2, i);
		((void (*)(void *, uint64_t, uint8_t))slot[4])(NULL, 2, 0);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned cnt = argc > 2 ? (unsigned)atoi(argv[2]) : 100000;

	if (!nvtx_load()) {
		printf("no injection\n");
		return 0;
	}
	if (strcmp(what, "truth") == 0)
		return truth(cnt);
	if (strcmp(what, "open") == 0)
		open_ranges();
	if (strcmp(what, "wait") == 0)
		return wait_inside(argc > 2 ? argv[2] : "go");
	if (strcmp(what, "chain") == 0)
		return chain();
	if (strcmp(what, "fork") == 0)
		return fork_child();
	if (strcmp(what, "payload") == 0)
		return payload();
	if (strcmp(what, "name") == 0)
		return names();
	if (strcmp(what, "levels") == 0)
		return levels();
	if (strcmp(what, "loop") == 0)
		return loop(cnt);
	if (strcmp(what, "counters") == 0)
		return counters(cnt);
	return 2;
}

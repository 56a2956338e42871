/*
 * find.c - selects and loads libcupti. One that the process has loaded already must be used; else the one of the CUDA
 * runtime in use (its wheel, its toolkit), which fits the driver as the runtime does; else any. Those of a newer major
 * version than the driver's come last, and where one does not work the next is tried.
 */
#include "preload/cupti/guest.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH 4096u

/* Libraries near which a libcupti may be installed. */
static const char *const neighbours[] = {"libcudart", "libcublas", "libcudnn", "libtorch_cuda",
					 "libnvrtc"};
/* Relative to such a library, or to the root of a toolkit: wheels, conda; toolkits, links in them. */
static const char *const beside[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64",
				     "/../../../extras/CUPTI/lib64", NULL};
static const char *const wheels[] = {"/nvidia/cu13/lib", "/nvidia/cuda_cupti/lib", NULL};
static const char *const below[] = {"/extras/CUPTI/lib64", "/lib64", "/lib", NULL};

struct search {
	int major;     /* of the CUDA runtime, 0 unknown */
	int driver;    /* the newest version that the driver supports, 12040, 0 unknown */
	bool is_same;  /* only those of the runtime's major version are tried */
	bool is_newer; /* only those are tried that are newer than the driver */
	find_use *use;
	void *tried[8]; /* handles */
	unsigned tried_cnt;
	char *why;
	size_t why_size;
};

/* libNAME.so.12 -> 12; libNAME-8f2c.so.11.8 -> 11; libcupti.so.2025.3.1 -> 0: a year; the link to it has the version */
static int major_of(const char *file)
{
	const char *so = strstr(file, ".so.");
	int major = 0;

	/* Not atoi(), which headers of newer systems map to a function that older libcs lack. */
	for (so = so ? so + 4 : ""; *so >= '0' && *so <= '9' && major < 1000; so++)
		major = major * 10 + (*so - '0');
	return major < 1000 ? major : 0;
}

static bool fill(void *handle)
{
	bool all = true;

#define CUPTI(needed, name, parameters)                                                  \
	guest.cupti.name = (int(*) parameters)guest.host->symbol(handle, "cupti" #name); \
	all = all && (guest.cupti.name || !(needed));
#include "preload/cupti/functions.def"
#undef CUPTI
	return all;
}

static int find_self(struct dl_phdr_info *info, size_t size, void *data)
{
	uintptr_t at = (uintptr_t)guest.cupti.GetVersion;

	(void)size;
	(void)data;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && at - (info->dlpi_addr + p->p_vaddr) < p->p_memsz) {
			snprintf(guest.path, sizeof(guest.path), "%s", info->dlpi_name);
			return 1;
		}
	}
	return 0;
}

/* True: the search ends with this one. */
static bool try_file(struct search *s, const char *path)
{
	void *handle = guest.host->load(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	/* By several links, or in several places. */
	for (unsigned i = 0; i < s->tried_cnt; i++)
		if (s->tried[i] == handle)
			return false;
	if (s->tried_cnt < sizeof(s->tried) / sizeof(*s->tried))
		s->tried[s->tried_cnt++] = handle;
	if (fill(handle)) {
		dl_iterate_phdr(find_self, NULL);
		return s->use();
	}
	/* It stays loaded: effects of its constructors cannot be undone. */
	snprintf(s->why, s->why_size, "%s", path);
	return false;
}

/* By the version in a name; versions that this search does not try: below 0. */
static int rank_of(const struct search *s, int major, int minor)
{
	bool is_newer = s->driver && major > s->driver / 1000;

	if (is_newer != s->is_newer || (s->is_same && major != s->major))
		return -1;
	return (major && major == s->major ? 1000000 : 0) + major * 100 + minor;
}

#define BEST 8u
struct best {
	int rank[BEST];
	char name[BEST][256];
	unsigned cnt;
};

/* Keeps the best ones in their order; a better one of the same rank comes first. */
static void keep(struct best *b, int rank, const char *name)
{
	unsigned at = b->cnt < BEST ? b->cnt : BEST - 1;

	if (rank < 0 || (b->cnt == BEST && rank <= b->rank[BEST - 1]))
		return;
	for (; at && b->rank[at - 1] < rank; at--) {
		b->rank[at] = b->rank[at - 1];
		memcpy(b->name[at], b->name[at - 1], sizeof(b->name[at]));
	}
	b->rank[at] = rank;
	snprintf(b->name[at], sizeof(b->name[at]), "%s", name);
	b->cnt += b->cnt < BEST;
}

/* libcupti.so.11.8 -> 11, 8; libcupti.so.2025.3.1 -> 0, 25: of an unknown version, but the later the better */
static int rank_of_file(const struct search *s, const char *file)
{
	const char *so = strstr(file, ".so.");
	int major = major_of(file), minor = 0;

	if (so && !major && so[4] == '2')
		return rank_of(s, 0, (so[6] - '0') * 10 + so[7] - '0');
	so = so ? strchr(so + 4, '.') : NULL;
	for (so = so ? so + 1 : ""; *so >= '0' && *so <= '9' && minor < 10; so++)
		minor = minor * 10 + (*so - '0');
	return rank_of(s, major, minor);
}

/* Those of a folder: of the runtime's version, then the newest. */
static bool try_folder(struct search *s, const char *folder)
{
	/* Not on the stack, which may be a coroutine's small one. */
	static struct best best;
	static char path[PATH + 260];
	DIR *d = opendir(folder);

	best.cnt = 0;
	for (struct dirent *e; d && (e = readdir(d));)
		if (strncmp(e->d_name, "libcupti", 8) == 0 &&
		    (e->d_name[8] == '.' || e->d_name[8] == '-') && strstr(e->d_name, ".so"))
			keep(&best, rank_of_file(s, e->d_name), e->d_name);
	if (d)
		closedir(d);
	for (unsigned i = 0; i < best.cnt; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, best.name[i]);
		if (try_file(s, path))
			return true;
	}
	return false;
}

static bool try_below(struct search *s, const char *root, const char *const *tails)
{
	char folder[PATH];

	for (; root && *root && *tails; tails++) {
		snprintf(folder, sizeof(folder), "%s%s", root, *tails);
		if (try_folder(s, folder))
			return true;
	}
	return false;
}

/* Called with the loader's lock held: only collects names. */
struct folders {
	struct search *search;
	unsigned cnt;
	char path[8][PATH];
	char packages[PATH]; /* of the running Python */
};

/* /opt/venv/lib/python3.12/site-packages/jaxlib/x.so -> /opt/venv/lib/python3.12/site-packages */
static void note_packages(struct folders *f, const char *path)
{
	static const char *const names[] = {"/site-packages/", "/dist-packages/"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !*f->packages; i++) {
		const char *at = strstr(path, names[i]);

		if (at)
			snprintf(f->packages, PATH, "%.*s", (int)(at + strlen(names[i]) - 1 - path),
				 path);
	}
}

static int note_folder(struct dl_phdr_info *info, size_t size, void *data)
{
	struct folders *f = data;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	note_packages(f, info->dlpi_name);
	for (size_t i = 0; name && i < sizeof(neighbours) / sizeof(*neighbours); i++) {
		if (strncmp(name + 1, neighbours[i], strlen(neighbours[i])) != 0)
			continue;
		if (!f->search->major)
			f->search->major = major_of(name);
		if (f->cnt < sizeof(f->path) / sizeof(*f->path))
			snprintf(f->path[f->cnt++], PATH, "%.*s", (int)(name - info->dlpi_name),
				 info->dlpi_name);
	}
	return 0;
}

static struct folders folders;

static void look_around(struct search *s)
{
	folders.search = s;
	dl_iterate_phdr(note_folder, &folders);
}

/*
 * Python's packages come first where they have the same version: a program that imports the like of PyTorch later finds the
 * library loaded under that name, and must find its own.
 */
static bool try_neighbours(struct search *s)
{
	bool is_found;

	s->is_same = true;
	is_found = s->major && try_below(s, folders.packages, wheels);
	s->is_same = false;
	for (unsigned i = 0; i < folders.cnt && !is_found; i++)
		is_found = try_below(s, folders.path[i], beside);
	/* A Python program that has loaded only the driver so far. */
	return is_found || try_below(s, folders.packages, wheels);
}

/* /usr/local/cuda, then those of /usr/local/cuda-*: what the driver supports as a whole first, then the newest. */
static bool try_toolkits(struct search *s)
{
	static struct best best;
	char path[300];
	DIR *d;

	if (try_below(s, getenv("CUDA_HOME"), below) || try_below(s, getenv("CUDA_PATH"), below) ||
	    try_below(s, "/usr/local/cuda", below))
		return true;
	best.cnt = 0;
	d = opendir("/usr/local");
	for (struct dirent *e; d && (e = readdir(d));) {
		double version = strncmp(e->d_name, "cuda-", 5) ? 0 : strtod(e->d_name + 5, NULL);
		int major = (int)version, minor = (int)((version - major) * 10 + 0.5);
		int rank = major ? rank_of(s, major, minor) : -1;

		if (rank >= 0 && major * 1000 + minor * 10 <= s->driver)
			rank += 100000;
		keep(&best, rank, e->d_name);
	}
	if (d)
		closedir(d);
	for (unsigned i = 0; i < best.cnt; i++) {
		snprintf(path, sizeof(path), "/usr/local/%s", best.name[i]);
		if (try_below(s, path, below))
			return true;
	}
	return try_below(s, "/opt/cuda", below);
}

/* By the loader: LD_LIBRARY_PATH, its cache. */
static bool try_loader(struct search *s)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					    "libcupti.so"};
	static struct best best;

	best.cnt = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		keep(&best, rank_of_file(s, names[i]), names[i]);
	for (unsigned i = 0; i < best.cnt; i++)
		if (try_file(s, best.name[i]))
			return true;
	return false;
}

void *find_driver_query(const char *name)
{
	void *driver = guest.host->load("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	return driver ? guest.host->symbol(driver, name) : NULL;
}

/* The driver may be asked before cuInit. */
int find_driver(void)
{
	int (*get)(int *) = (int (*)(int *))find_driver_query("cuDriverGetVersion");
	int version = 0;

	return get && get(&version) == 0 ? version : 0;
}

bool find_cupti(char *why, size_t size, find_use *use)
{
	struct search s = {.why = why, .why_size = size, .use = use, .driver = find_driver()};
	const char *asked = getenv("SIGHTLINE_CUPTI"), *loaded = guest.host->loaded_cupti();

	*why = 0;
	guest.is_programs = loaded != NULL;
	if (loaded)
		return try_file(&s, loaded);
	if (asked && *asked) {
		snprintf(why, size, "%s", asked);
		return try_file(&s, asked);
	}
	look_around(&s);
	for (int turn = 0; turn < 2; turn++) {
		s.is_newer = turn != 0;
		if (try_neighbours(&s) || try_toolkits(&s) || try_loader(&s))
			return true;
	}
	return false;
}

const char *find_version_text(char *to, size_t size)
{
	static const char *const cuda[] = {"11.2", "11.5", "11.6", "11.8", "12.0", "12.2", "12.3",
					   "12.4", "12.5", "12.6", "12.7", "12.8", "12.9", "12.9"};
	uint32_t v = guest.version;

	if (v >= 130000)
		snprintf(to, size, "%u.%u", v / 10000, v / 100 % 100);
	else if (v >= CUPTI_OLDEST && v - CUPTI_OLDEST < sizeof(cuda) / sizeof(*cuda))
		snprintf(to, size, "%s", cuda[v - CUPTI_OLDEST]);
	else if (!v) /* earlier ones answer without a driver */
		snprintf(to, size, "13.3 or newer");
	else
		snprintf(to, size, "? (API %u)", v);
	return to;
}

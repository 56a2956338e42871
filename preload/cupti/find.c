/*
 * find.c - selects and loads libcupti. One that the process has loaded already must be used; else the one of the CUDA
 * runtime in use (its wheel, its toolkit), which fits the driver as the runtime does; else any.
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
	int major; /* of the CUDA runtime, 0 unknown */
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

static bool try_file(struct search *s, const char *path)
{
	void *handle = guest.host->load(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	if (fill(handle)) {
		dl_iterate_phdr(find_self, NULL);
		return true;
	}
	/* It stays loaded: effects of its constructors cannot be undone. */
	snprintf(s->why, s->why_size, "%s", path);
	return false;
}

/* The best libcupti of a folder: that of the runtime's version, else the newest. */
static bool try_folder(struct search *s, const char *folder)
{
	char best[PATH + 260] = "";
	int rank = -1;
	DIR *d = opendir(folder);

	for (struct dirent *e; d && (e = readdir(d));) {
		int major = major_of(e->d_name), r = s->major && major == s->major ? 1000 : major;

		if (strncmp(e->d_name, "libcupti", 8) != 0 ||
		    (e->d_name[8] != '.' && e->d_name[8] != '-') || !strstr(e->d_name, ".so") ||
		    r <= rank)
			continue;
		rank = r;
		snprintf(best, sizeof(best), "%s/%s", folder, e->d_name);
	}
	if (d)
		closedir(d);
	return *best && try_file(s, best);
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

static bool try_neighbours(struct search *s)
{
	/* Not on the stack, which may be a coroutine's small one; this runs once. */
	static struct folders f;

	f.search = s;
	dl_iterate_phdr(note_folder, &f);
	for (unsigned i = 0; i < f.cnt; i++)
		if (try_below(s, f.path[i], beside))
			return true;
	/* A Python program that has loaded only the driver so far: its packages may include a libcupti. */
	return try_below(s, f.packages, wheels);
}

/* /usr/local/cuda, else the newest of /usr/local/cuda-*. */
static bool try_toolkits(struct search *s)
{
	char best[300] = "";
	double newest = 0;
	DIR *d;

	if (try_below(s, getenv("CUDA_HOME"), below) || try_below(s, getenv("CUDA_PATH"), below) ||
	    try_below(s, "/usr/local/cuda", below))
		return true;
	d = opendir("/usr/local");
	for (struct dirent *e; d && (e = readdir(d));) {
		double version = strncmp(e->d_name, "cuda-", 5) ? 0 : strtod(e->d_name + 5, NULL);

		if (s->major && (int)version == s->major)
			version += 1000;
		if (version > newest) {
			newest = version;
			snprintf(best, sizeof(best), "/usr/local/%s", e->d_name);
		}
	}
	if (d)
		closedir(d);
	return try_below(s, best, below) || try_below(s, "/opt/cuda", below);
}

/* By the loader: LD_LIBRARY_PATH, its cache. */
static bool try_loader(struct search *s)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					    "libcupti.so"};

	for (int turn = s->major ? 0 : 1; turn < 2; turn++)
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if ((turn || major_of(names[i]) == s->major) && try_file(s, names[i]))
				return true;
	return false;
}

bool find_cupti(char *why, size_t size)
{
	struct search s = {.why = why, .why_size = size};
	const char *asked = getenv("SIGHTLINE_CUPTI"), *loaded = guest.host->loaded_cupti();

	*why = 0;
	if (loaded)
		return try_file(&s, loaded);
	if (asked && *asked) {
		snprintf(why, size, "%s", asked);
		return try_file(&s, asked);
	}
	return try_neighbours(&s) || try_toolkits(&s) || try_loader(&s);
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
	else
		snprintf(to, size, "? (API %u)", v);
	return to;
}

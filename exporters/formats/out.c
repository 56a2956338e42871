/* out.c - the buffer, and after it zlib, zstd or write(2). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef SL_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef SL_HAVE_ZSTD
#include <zstd.h>
#endif

#include "exporters/formats/out.h"

#define BUFFER (256 * 1024)

static int write_all(struct out *o, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(o->fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

#ifdef SL_HAVE_ZLIB
struct gzip {
	z_stream z;
	unsigned char room[BUFFER];
};

static int pack_gzip(struct out *o, const char *data, size_t len, bool last)
{
	struct gzip *g = o->packer;
	int rc, done;

	g->z.next_in = (unsigned char *)(uintptr_t)data;
	g->z.avail_in = (unsigned)len;
	do {
		g->z.next_out = g->room;
		g->z.avail_out = sizeof(g->room);
		done = deflate(&g->z, last ? Z_FINISH : Z_NO_FLUSH);
		rc = done == Z_STREAM_ERROR
			     ? -EIO
			     : write_all(o, (char *)g->room, sizeof(g->room) - g->z.avail_out);
	} while (rc == 0 && (g->z.avail_out == 0 || (last && done != Z_STREAM_END)));
	if (last) {
		deflateEnd(&g->z);
		free(g);
	}
	return rc;
}

static int open_gzip(struct out *o)
{
	struct gzip *g = calloc(1, sizeof(*g));

	/* 16: with gzip's header. Level 4 packs traces as well as 6, nearly, in half the time. */
	if (!g || deflateInit2(&g->z, 4, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		return -ENOMEM;
	}
	o->packer = g;
	o->pack = pack_gzip;
	return 0;
}
#endif

#ifdef SL_HAVE_ZSTD
struct zstd {
	ZSTD_CCtx *c;
	char room[BUFFER];
};

static int pack_zstd(struct out *o, const char *data, size_t len, bool last)
{
	struct zstd *z = o->packer;
	ZSTD_inBuffer in = {data, len, 0};
	size_t left;
	int rc;

	do {
		ZSTD_outBuffer out = {z->room, sizeof(z->room), 0};

		left = ZSTD_compressStream2(z->c, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
		rc = ZSTD_isError(left) ? -EIO : write_all(o, z->room, out.pos);
	} while (rc == 0 && (last ? left > 0 : in.pos < in.size));
	if (last) {
		ZSTD_freeCCtx(z->c);
		free(z);
	}
	return rc;
}

static int open_zstd(struct out *o)
{
	struct zstd *z = calloc(1, sizeof(*z));

	if (z)
		z->c = ZSTD_createCCtx();
	if (!z || !z->c) {
		free(z);
		return -ENOMEM;
	}
	ZSTD_CCtx_setParameter(z->c, ZSTD_c_checksumFlag, 1);
	o->packer = z;
	o->pack = pack_zstd;
	return 0;
}
#endif

static int pack_not(struct out *o, const char *data, size_t len, bool last)
{
	(void)last;
	return write_all(o, data, len);
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len > end_len && strcmp(name + len - end_len, end) == 0;
}

bool out_packing_of(const char *name, enum out_packing *packing, char *why, size_t why_len)
{
	*packing = ends_with(name, ".gz")    ? OUT_GZIP
		   : ends_with(name, ".zst") ? OUT_ZSTD
					     : OUT_PLAIN;
#ifndef SL_HAVE_ZLIB
	if (*packing == OUT_GZIP) {
		snprintf(why, why_len,
			 "%s: this sightline was built without zlib and cannot write gzip", name);
		return false;
	}
#endif
#ifndef SL_HAVE_ZSTD
	if (*packing == OUT_ZSTD) {
		snprintf(why, why_len, "%s: this sightline was built without libzstd", name);
		return false;
	}
#endif
	(void)why;
	(void)why_len;
	return true;
}

int out_open(struct out *o, int fd, enum out_packing packing)
{
	memset(o, 0, sizeof(*o));
	o->fd = fd;
	o->size = BUFFER;
	o->buf = malloc(o->size);
	if (!o->buf)
		return -ENOMEM;
	o->p = o->buf;
	o->end = o->buf + o->size;
	o->pack = pack_not;
#ifdef SL_HAVE_ZLIB
	if (packing == OUT_GZIP)
		return open_gzip(o);
#endif
#ifdef SL_HAVE_ZSTD
	if (packing == OUT_ZSTD)
		return open_zstd(o);
#endif
	return packing == OUT_PLAIN ? 0 : -ENOTSUP;
}

static void pass_on(struct out *o, const char *data, size_t len, bool last)
{
	int rc;

	o->bytes += len;
	/* The packer must be ended also when its output is dropped. */
	if (o->err && !last)
		return;
	rc = o->pack(o, data, o->err ? 0 : len, last);
	if (rc < 0 && !o->err)
		o->err = -rc;
}

void out_flush(struct out *o)
{
	pass_on(o, o->buf, (size_t)(o->p - o->buf), false);
	o->p = o->buf;
}

void out_write_long(struct out *o, const void *data, size_t len)
{
	out_flush(o);
	if (len > o->size / 2) {
		pass_on(o, data, len, false);
		return;
	}
	memcpy(o->p, data, len);
	o->p += len;
}

int out_close(struct out *o)
{
	if (!o->buf)
		return -o->err;
	pass_on(o, o->buf, (size_t)(o->p - o->buf), true);
	free(o->buf);
	o->buf = NULL;
	if (o->fd > STDOUT_FILENO && close(o->fd) < 0 && !o->err)
		o->err = errno;
	return -o->err;
}

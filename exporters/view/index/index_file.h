/*
 * index_file.h - the side file, REPORT.view: extents of lanes, each with a checksum and its own place, and a directory at the end.
 *
 * It is written once, by the process that builds it, and only appended to; another process takes it only when its directory
 * is there, whole, and of this report. Readers take extents through a cache of bounded size, which checks them.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VIEW_EXTENT_HEAD 32
#define VIEW_CLASSES     4
/* Where an extent begins in the file, a multiple of 1024, and its size: number of a class. */
typedef uint64_t view_ref;
#define VIEW_REF_OFFSET(ref) ((ref) & ~(uint64_t)3)
#define VIEW_REF_CLASS(ref)  ((unsigned)((ref)&3))
extern const uint32_t view_class_bytes[VIEW_CLASSES]; /* with the head */

struct view_extent_head {
	uint32_t magic, crc; /* of all that follows, up to used */
	uint32_t used;       /* bytes, with the head */
	uint32_t lane;
	uint32_t level; /* of nodes; VIEW_LEVEL_BLOCKS: blocks; VIEW_LEVEL_TOTALS: totals */
	uint32_t unused;
	view_ref self;
};
#define VIEW_LEVEL_BLOCKS UINT32_MAX
#define VIEW_LEVEL_TOTALS (UINT32_MAX - 1)

/* The state of a report when the side file was made. */
struct view_identity {
	uint64_t size, log_size; /* bytes of the report, and of the log beside it */
	uint64_t rows;           /* of the numbers of rows of its tables */
	uint32_t head_crc;       /* of its first page, with SQLite's change counter */
	uint32_t activities;
};

struct view_side;

/*
 * The name of a file that is kept with a report: place 0 beside it, place 1, where that folder cannot be written to, in the user's
 * cache, by the report's full name. malloc'd; NULL: there is no such place.
 */
char *view_beside(const char *report, const char *ending, int place);
/* Makes the folders of @path. */
void view_beside_folders(char *path);

/* Fills in an identity but for rows and activities. 0, or -1: errno. */
int view_identity_of(const char *path, struct view_identity *id);
/*
 * A file to write to, beside @report, in the user's cache, or without a name, as for an index that is not to be kept. NULL:
 * nowhere is room.
 */
struct view_side *view_side_create(const char *report, bool *is_kept);
/* An earlier side file, whole and of this report; its directory in @dir (malloc'd). NULL: none. */
struct view_side *view_side_open(const char *report, const struct view_identity *id, uint8_t **dir,
				 size_t *len);
/* Makes the file available to other processes. */
int view_side_finish(struct view_side *s, const struct view_identity *id, const uint8_t *dir,
		     size_t len);
void view_side_close(struct view_side *s);
/* The length of the file, which may have free extents anywhere: for unit tests of extents given back. */
uint64_t view_side_bytes(const struct view_side *s);

/* Room for an extent; one writer only. */
view_ref view_side_room(struct view_side *s, unsigned class);
/* Drops an extent from the cache before it is written anew, while no reader has it. @is_free: others may use its room. */
void view_side_forget(struct view_side *s, view_ref ref, bool is_free);
/* @data begins with the head, which gets the checksum here. */
int view_side_write(struct view_side *s, view_ref ref, uint8_t *data, uint32_t used, uint32_t lane,
		    uint32_t level);

/* An extent in memory, until it is put back; at least @used bytes of it. NULL: damaged, or no memory. */
struct view_page {
	const uint8_t *data;
	uint32_t used;
	uint32_t pins;
	struct view_page *next, *newer, *older;
	view_ref ref;
	bool is_stale;
};
struct view_page *view_page_get(struct view_side *s, view_ref ref, uint32_t used, uint32_t lane,
				uint32_t level);
void view_page_put(struct view_side *s, struct view_page *page);
/* Bytes that the cache may hold. */
#define VIEW_CACHE_MAX (96u << 20)

/* CRC-32C; the second without an instruction for it. */
uint32_t view_crc(uint32_t crc, const void *data, size_t len);
uint32_t view_crc_plain(uint32_t crc, const void *data, size_t len);

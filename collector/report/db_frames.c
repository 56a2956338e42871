/*
 * db_frames.c - symbolizes frames: finds the module of an address (db_spaces.h), and writes each distinct frame once
 * (SL_FRAMES).
 *
 * Stacks share most of their frames, so the parts of a frame are cached by address in a mapped file.
 */
#include "collector/report/db_frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/report/db_internal.h"
#include "collector/report/db_spaces.h"
#include "collector/symbols/pylines.h"
#include "collector/symbols/symbols.h"
#include "preload/wire/frame.h"

#define INLINED_MOST 32u

enum {
	KIND_NATIVE,
	KIND_PYTHON,
	KIND_KERNEL,
	KIND_JIT,
	KIND_REMARK
};
enum {
	BY_UNKNOWN,
	BY_FRAME_POINTER,
	BY_KERNEL = 5,
	BY_DWARF = 6
}; /* ENUM_STACK_UNWIND_METHOD */

/* A row of SL_FRAMES, less its id; 0 stands for NULL where there is one. */
struct row {
	int64_t kind, symbol, module, file, line, inlined, kernel, unresolved, special, ip, method;
};

struct slot { /* the lookup of an address */
	int64_t where;
	uint64_t frame;
	struct stack_part part; /* cnt 0: free */
};

struct db_frames {
	struct db *db;
	struct symbols *symbols;
	bool resolve;
	struct db_spaces *spaces;
	struct {
		struct slot *list; /* open addressing */
		size_t cap, used;
	} slots;
	struct {
		struct row *list;    /* by id - 1 */
		uint8_t *is_written; /* likewise */
		size_t cnt, cap;
		uint32_t *by_row; /* open addressing: id */
		size_t by_rows;
	} rows;
	struct {
		int64_t *list; /* of parts */
		size_t cnt, cap;
	} ids;
	sqlite3_stmt *code;
	int err;
};

static int64_t text_id(struct db_frames *f, const char *text)
{
	return db_string(f->db, text, strlen(text));
}

/* ---- rows ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static size_t row_hash(const struct row *r)
{
	uint64_t h = mix((uint64_t)r->kind, (uint64_t)r->symbol);

	h = mix(mix(h, (uint64_t)r->module), (uint64_t)r->file);
	h = mix(mix(h, (uint64_t)r->line), (uint64_t)r->ip);
	return (size_t)(h ^ h >> 32);
}

static bool grow_rows(struct db_frames *f)
{
	size_t cap = f->rows.cap ? f->rows.cap * 2 : 4096;
	struct row *rows = realloc(f->rows.list, cap * sizeof(*rows));
	uint8_t *is_written = realloc(f->rows.is_written, cap);
	uint32_t *by = rows && is_written ? calloc(cap * 2, sizeof(*by)) : NULL;

	if (rows)
		f->rows.list = rows;
	if (is_written)
		f->rows.is_written = is_written;
	if (!by)
		return false;
	memset(is_written + f->rows.cnt, 0, cap - f->rows.cnt);
	for (size_t i = 0; i < f->rows.cnt; i++) {
		size_t at = row_hash(&rows[i]);

		while (by[at &= cap * 2 - 1])
			at++;
		by[at] = (uint32_t)i + 1;
	}
	free(f->rows.by_row);
	f->rows.by_row = by;
	f->rows.cap = cap;
	f->rows.by_rows = cap * 2;
	return true;
}

static int64_t or_null(int64_t value)
{
	return value ? value : DB_NULL;
}

static void write_row(struct db_frames *f, int64_t id, const struct row *r)
{
	int64_t *row = db_row(f->db, DB_SL_FRAMES);

	row[FRAME_ID] = id;
	row[FRAME_KIND] = r->kind;
	row[FRAME_SYMBOL] = r->symbol;
	row[FRAME_MODULE] = r->module;
	row[FRAME_FILE] = or_null(r->file);
	row[FRAME_LINE] = or_null(r->line);
	row[FRAME_INLINED] = r->inlined;
	row[FRAME_KERNEL_MODE] = r->kernel;
	row[FRAME_UNRESOLVED] = r->unresolved;
	row[FRAME_SPECIAL_ENTRY] = r->special;
	row[FRAME_ORIGINAL_IP] = or_null(r->ip);
	row[FRAME_UNWIND_METHOD] = r->method;
}

/* SL_FRAMES.id of the row, which is written with its first use. */
static int64_t row_id(struct db_frames *f, const struct row *r)
{
	size_t at = row_hash(r);

	if (f->err)
		return 0;
	if (f->rows.cnt == f->rows.cap && !grow_rows(f)) {
		f->err = -ENOMEM;
		return 0;
	}
	for (; f->rows.by_row[at &= f->rows.by_rows - 1]; at++)
		if (memcmp(&f->rows.list[f->rows.by_row[at] - 1], r, sizeof(*r)) == 0)
			return f->rows.by_row[at];
	f->rows.list[f->rows.cnt++] = *r;
	f->rows.by_row[at] = (uint32_t)f->rows.cnt;
	return (int64_t)f->rows.cnt;
}

static void add_id(struct db_frames *f, struct stack_part *part, const struct row *r)
{
	if (!grow(&f->ids.list, f->ids.cnt, &f->ids.cap, sizeof(*f->ids.list))) {
		f->err = -ENOMEM;
		return;
	}
	if (!part->cnt)
		part->first = (uint32_t)f->ids.cnt;
	f->ids.list[f->ids.cnt++] = row_id(f, r);
	part->cnt++;
}

int64_t db_frames_use(struct db_frames *f, uint32_t at)
{
	int64_t id = f->ids.list[at];

	if (!f->err && !f->rows.is_written[id - 1]) {
		f->rows.is_written[id - 1] = 1;
		write_row(f, id, &f->rows.list[id - 1]);
	}
	return f->err ? 0 : id;
}

void db_frames_chain(const struct db_frames *f, int64_t id, int64_t *row)
{
	const struct row *r = &f->rows.list[id - 1];

	row[CHAIN_SYMBOL] = r->symbol;
	row[CHAIN_MODULE] = r->module;
	row[CHAIN_KERNEL_MODE] = r->kernel;
	row[CHAIN_THUMB_CODE] = 0;
	row[CHAIN_UNRESOLVED] = r->unresolved;
	row[CHAIN_SPECIAL_ENTRY] = r->special;
	row[CHAIN_ORIGINAL_IP] = or_null(r->ip);
	row[CHAIN_UNWIND_METHOD] = r->method;
	row[CHAIN_FILE] = or_null(r->file);
	row[CHAIN_LINE] = or_null(r->line);
}

/* ---- lookup of a frame's parts ---- */

static struct row unresolved(struct db_frames *f, int kind, uint64_t address, int64_t module)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return (struct row){.kind = kind,
			    .symbol = text_id(f, text),
			    .module = module,
			    .kernel = kind == KIND_KERNEL,
			    .unresolved = 1,
			    .ip = (int64_t)address};
}

static void place(struct db_frames *f, struct row *r, const struct symbols_frame *at)
{
	r->file = at->file ? text_id(f, at->file) : 0;
	r->line = at->file ? at->line : 0;
	r->inlined = at->is_inlined;
	if (!at->function)
		return;
	r->symbol = text_id(f, at->function);
	r->unresolved = 0;
}

static void kernel_part(struct db_frames *f, uint64_t frame, struct stack_part *part)
{
	uint64_t address = sl_frame_address(frame);
	struct symbols_frame at = {0};
	const char *module = "[kernel.kallsyms]";
	struct row r = unresolved(f, KIND_KERNEL, address, 0);

	if (f->resolve &&
	    symbols_kernel(f->symbols, address - !(frame & SL_FRAME_EXACT), &at, &module))
		place(f, &r, &at);
	r.module = text_id(f, module);
	r.method = BY_KERNEL;
	add_id(f, part, &r);
}

static int64_t method_of(uint64_t frame)
{
	return frame & SL_FRAME_BY_FP ? BY_FRAME_POINTER : BY_DWARF;
}

static void module_part(struct db_frames *f, const struct db_module *m, uint64_t frame,
			struct stack_part *part)
{
	uint64_t address = sl_frame_address(frame);
	uint64_t in_file = address - m->bias - !(frame & SL_FRAME_EXACT);
	struct symbols_frame at[INLINED_MOST];
	size_t cnt = 0;
	struct row r = unresolved(f, KIND_NATIVE, address, m->path_id), plain = r;

	if (m->symbols)
		cnt = symbols_at(f->symbols, m->symbols, in_file, at, INLINED_MOST);
	for (size_t i = 0; i < cnt; i++) {
		r = plain;
		place(f, &r, &at[i]);
		r.method = method_of(frame);
		add_id(f, part, &r);
	}
	if (cnt && at[cnt - 1].function)
		part->role = stack_role(at[cnt - 1].function);
	else
		part->role = STACK_UNNAMED;
	if (!cnt) {
		r.method = method_of(frame);
		add_id(f, part, &r);
	}
}

/* In no file: perhaps made by the program. @is_kept: the answer is the same at any time. */
static void other_part(struct db_frames *f, const struct db_stack_of *stack, uint64_t frame,
		       const struct db_module *m, struct stack_part *part, bool *is_kept)
{
	uint64_t address = sl_frame_address(frame);
	int64_t pid = db_spaces_pid(f->spaces, stack->space);
	struct symbols_frame at = {0};
	struct row r;

	if (f->resolve && pid > 0 &&
	    symbols_jit(f->symbols, pid, address - !(frame & SL_FRAME_EXACT),
			stack->since + f->db->time.start_clock, &at)) {
		r = unresolved(f, KIND_JIT, address, text_id(f, "[JIT]"));
		place(f, &r, &at);
		*is_kept = false;
	} else {
		r = unresolved(f, KIND_NATIVE, address, m ? m->path_id : text_id(f, "[Unknown]"));
	}
	r.method = method_of(frame);
	add_id(f, part, &r);
}

static void remark_part(struct db_frames *f, uint64_t frame, struct stack_part *part)
{
	static const char *const texts[] = {
		[SL_REMARK_NONE] = "[Unknown]",
		[SL_REMARK_DEPTH] = "[Max depth]",
		[SL_REMARK_NO_TABLE] = "[No unwind table]",
		[SL_REMARK_BROKEN] = "[Broken backtraces]",
		[SL_REMARK_MEMORY] = "[Unreadable stack]",
		[SL_REMARK_PYTHON] = "[Unknown Python]",
		[SL_REMARK_PYTHON_BROKEN] = "[Broken Python frames]",
		[SL_REMARK_LOST] = "[Lost stack]",
	};
	uint64_t remark = sl_frame_address(frame);
	int64_t text = text_id(f, texts[remark < sizeof(texts) / sizeof(texts[0]) ? remark : 0]);
	struct row r = {.kind = KIND_REMARK, .symbol = text, .module = text, .special = 1};

	part->role = STACK_REMARK;
	add_id(f, part, &r);
}

static const char *column_text(sqlite3_stmt *stmt, int at)
{
	const char *text = (const char *)sqlite3_column_text(stmt, at);

	return text ? text : "";
}

/* Without a table at least where the function is. */
static int python_line(sqlite3_stmt *code, uint32_t offset)
{
	int first = sqlite3_column_int(code, 2), version = sqlite3_column_int(code, 3);
	const uint8_t *table = sqlite3_column_blob(code, 4);
	size_t len = (size_t)sqlite3_column_bytes(code, 4);

	return table ? pylines_at(version, table, len, first, offset) : first;
}

static void python_part(struct db_frames *f, int64_t code, uint64_t frame, struct stack_part *part)
{
	struct row r = {.kind = KIND_PYTHON};
	char text[32];

	part->role = frame & SL_FRAME_ENTRY ? STACK_ENTRY : STACK_PYTHON;
	sqlite3_bind_int64(f->code, 1, code);
	if (f->code && sqlite3_step(f->code) == SQLITE_ROW) {
		r.file = r.module = text_id(f, column_text(f->code, 0));
		r.symbol = text_id(f, column_text(f->code, 1));
		r.line = python_line(f->code, sl_frame_offset(frame));
	} else {
		snprintf(text, sizeof(text), "[Python code %" PRIu32 "]", sl_frame_code(frame));
		r.symbol = text_id(f, text);
		r.module = text_id(f, "[Unknown]");
		r.unresolved = 1;
	}
	sqlite3_reset(f->code);
	add_id(f, part, &r);
}

/* ---- each once ---- */

static size_t slot_at(const struct slot *list, size_t cap, int64_t where, uint64_t frame)
{
	size_t at = (size_t)mix(mix(0, (uint64_t)where), frame);

	while (list[at &= cap - 1].part.cnt && (list[at].where != where || list[at].frame != frame))
		at++;
	return at;
}

static struct slot *find_slot(struct db_frames *f, int64_t where, uint64_t frame)
{
	if (f->slots.used * 2 >= f->slots.cap) {
		size_t cap = f->slots.cap ? f->slots.cap * 2 : 8192;
		struct slot *list = calloc(cap, sizeof(*list));

		if (!list) {
			f->err = -ENOMEM;
			return NULL;
		}
		for (size_t i = 0; i < f->slots.cap; i++)
			if (f->slots.list[i].part.cnt)
				list[slot_at(list, cap, f->slots.list[i].where,
					     f->slots.list[i].frame)] = f->slots.list[i];
		free(f->slots.list);
		f->slots.list = list;
		f->slots.cap = cap;
	}
	return &f->slots.list[slot_at(f->slots.list, f->slots.cap, where, frame)];
}

/*
 * The context that a frame's meaning depends on, besides its own bits: code objects are numbered by
 * arena, addresses by module.
 */
#define WHERE_FIXED  INT64_MIN
#define WHERE_PYTHON (INT64_C(1) << 62)
#define WHERE_SPACE  (INT64_C(1) << 61)

int db_frames_error(const struct db_frames *f)
{
	return f->db->txn.failed ? f->db->txn.failed : -ENOMEM;
}

struct stack_part db_frames_part(struct db_frames *f, const struct db_stack_of *stack,
				 uint64_t frame)
{
	struct stack_part none = {0}, part = {0};
	int64_t where = WHERE_FIXED, arena = stack->space >> 32;
	const struct db_module *m = NULL;
	bool is_kept = true;
	struct slot *slot;

	/* A run of the interpreter's loop in which no frame of Python's is left: it only takes the loop's place. */
	if (frame & SL_FRAME_PYTHON && !sl_frame_code(frame))
		return (struct stack_part){.role = STACK_ENTRY};
	if (frame & SL_FRAME_PYTHON) {
		where = WHERE_PYTHON | arena;
	} else if (!(frame & (SL_FRAME_KERNEL | SL_FRAME_REMARK))) {
		m = db_spaces_module(f->spaces, stack->space,
				     sl_frame_address(frame) - !(frame & SL_FRAME_EXACT),
				     stack->since);
		where = m && m->has_file ? m->number : WHERE_SPACE ^ stack->space;
	}
	slot = f->err ? NULL : find_slot(f, where, frame);
	if (!slot)
		return none;
	if (slot->part.cnt)
		return slot->part;
	if (frame & SL_FRAME_REMARK)
		remark_part(f, frame, &part);
	else if (frame & SL_FRAME_PYTHON)
		python_part(f, arena << 32 | sl_frame_code(frame), frame, &part);
	else if (frame & SL_FRAME_KERNEL)
		kernel_part(f, frame, &part);
	else if (m && m->has_file)
		module_part(f, m, frame, &part);
	else
		other_part(f, stack, frame, m, &part, &is_kept);
	if (f->err)
		return none;
	if (is_kept) {
		*slot = (struct slot){where, frame, part};
		f->slots.used++;
	}
	return part;
}

/* ---- rows in the report ---- */

/* --resolve-symbols=false */
bool db_frames_wanted(struct db *db)
{
	sqlite3_stmt *stmt;
	bool is_off = false;

	if (db_prepare(db,
		       "SELECT 1 FROM main.META_DATA_CAPTURE"
		       " WHERE name = 'SL_RESOLVE_SYMBOLS' AND value = 'false'",
		       &stmt))
		return true;
	is_off = sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_finalize(stmt);
	return !is_off;
}

int db_frames_open(struct db *db, struct db_frames **out)
{
	struct db_frames *f = calloc(1, sizeof(*f));
	int err;

	*out = f;
	if (!f)
		return -ENOMEM;
	f->db = db;
	f->resolve = db_frames_wanted(db);
	err = db_prefetch_take(db, &f->symbols);
	if (!err && db_table_exists(db, "SL_CODES"))
		err = db_prepare(db,
				 "SELECT file, name, firstLine, version, lines FROM main.SL_CODES"
				 " WHERE id = ?",
				 &f->code);
	return err ? err : db_spaces_open(db, f->resolve ? f->symbols : NULL, &f->spaces);
}

void db_frames_note_lost(struct db_frames *f)
{
	struct symbols_lost lost;
	int64_t end = f->db->time.end;
	char text[512], what[160];

	for (unsigned i = 0; symbols_lost(f->symbols, i, &lost); i++) {
		snprintf(what, sizeof(what), "symbols of files of other users: %s", lost.why);
		snprintf(text, sizeof(text),
			 "Symbols of %" PRIu64 " files of other users were not read: %s"
			 " (the first: %.200s, of user %u).",
			 lost.files, lost.why, lost.first, (unsigned)lost.owner);
		db_diagnostic(f->db, end, 2, 2, text, DB_NULL);
		db_lost(f->db, end, end, DB_NULL, what, (int64_t)lost.files);
	}
}

void db_frames_close(struct db_frames *f)
{
	if (!f)
		return;
	sqlite3_finalize(f->code);
	db_spaces_close(f->spaces);
	symbols_close(f->symbols);
	free(f->slots.list);
	free(f->rows.list);
	free(f->rows.is_written);
	free(f->rows.by_row);
	free(f->ids.list);
	free(f);
}

-- kind(id, type, stdio): functions that open (1), read (3) or write (4), as in ENUM_OSRT_FILE_ACCESS_EVENT_TYPE, and whether they do so
-- on a stream's buffer (1), where their calls and bytes are not those of the kernel: by SL_FUNCTIONS, or in reports without it by their names, of which variants such as __pread64_chk count as pread. A step of a WITH.
plain(word, type, stdio) AS (
	VALUES ('open', 1, 0), ('open_2', 1, 0), ('openat', 1, 0), ('openat_2', 1, 0), ('creat', 1, 0), ('mkstemp', 1, 0),
		('mkostemp', 1, 0), ('mkstemps', 1, 0), ('mkostemps', 1, 0), ('shm_open', 1, 0), ('opendir', 1, 0),
		('fopen', 1, 1), ('freopen', 1, 1), ('tmpfile', 1, 1), ('connect', 1, 0), ('accept', 1, 0), ('accept4', 1, 0),
		('read', 3, 0), ('pread', 3, 0), ('readv', 3, 0), ('preadv', 3, 0), ('preadv2', 3, 0), ('preadvv2', 3, 0),
		('sendfile', 3, 0), ('copy_file_range', 3, 0), ('splice', 3, 0), ('tee', 3, 0), ('getdents', 3, 0),
		('recv', 3, 0), ('recvfrom', 3, 0), ('recvmsg', 3, 0), ('recvmmsg', 3, 0),
		('fread', 3, 1), ('fread_unlocked', 3, 1), ('fgets', 3, 1), ('fgets_unlocked', 3, 1), ('getline', 3, 1),
		('getdelim', 3, 1), ('fgetc', 3, 1), ('getc', 3, 1), ('fwrite', 4, 1), ('fwrite_unlocked', 4, 1), ('fputs', 4, 1),
		('fputs_unlocked', 4, 1), ('puts', 4, 1), ('fprintf', 4, 1), ('printf', 4, 1), ('vfprintf', 4, 1), ('vprintf', 4, 1),
		('dprintf', 4, 0), ('fputc', 4, 1), ('putc', 4, 1),
		('write', 4, 0), ('pwrite', 4, 0), ('writev', 4, 0), ('pwritev', 4, 0), ('pwritev2', 4, 0), ('pwritevv2', 4, 0),
		('vmsplice', 4, 0), ('send', 4, 0), ('sendto', 4, 0), ('sendmsg', 4, 0), ('sendmmsg', 4, 0)
), kind AS MATERIALIZED (
	SELECT nameId AS id, io AS type, isStdio AS stdio
	FROM SL_FUNCTIONS
	WHERE io IN (1, 3, 4)
	UNION ALL
	SELECT id, type, stdio
	FROM StringIds JOIN plain ON word = replace(replace(replace(value, '__', ''), '_chk', ''), '64', '')
	WHERE NOT EXISTS (SELECT 1 FROM SL_FUNCTIONS)
)

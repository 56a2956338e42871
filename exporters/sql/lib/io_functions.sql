-- kind(id, type): functions that open (1), read (3) or write (4), as in ENUM_OSRT_FILE_ACCESS_EVENT_TYPE: by SL_FUNCTIONS, or
-- in reports without it by their names, of which variants such as __pread64_chk count as pread. A step of a WITH.
plain(word, type) AS (
	VALUES ('open', 1), ('open_2', 1), ('openat', 1), ('openat_2', 1), ('creat', 1), ('mkstemp', 1),
		('mkostemp', 1), ('mkstemps', 1), ('mkostemps', 1), ('shm_open', 1), ('opendir', 1),
		('fopen', 1), ('freopen', 1), ('tmpfile', 1), ('connect', 1), ('accept', 1), ('accept4', 1),
		('read', 3), ('pread', 3), ('readv', 3), ('preadv', 3), ('preadv2', 3), ('preadvv2', 3),
		('sendfile', 3), ('copy_file_range', 3), ('splice', 3), ('tee', 3), ('getdents', 3),
		('recv', 3), ('recvfrom', 3), ('recvmsg', 3), ('recvmmsg', 3),
		('fread', 3), ('fread_unlocked', 3), ('fgets', 3), ('fgets_unlocked', 3), ('getline', 3),
		('getdelim', 3), ('fgetc', 3), ('getc', 3), ('fwrite', 4), ('fwrite_unlocked', 4), ('fputs', 4),
		('fputs_unlocked', 4), ('puts', 4), ('fprintf', 4), ('printf', 4), ('vfprintf', 4), ('vprintf', 4),
		('dprintf', 4), ('fputc', 4), ('putc', 4),
		('write', 4), ('pwrite', 4), ('writev', 4), ('pwritev', 4), ('pwritev2', 4), ('pwritevv2', 4),
		('vmsplice', 4), ('send', 4), ('sendto', 4), ('sendmsg', 4), ('sendmmsg', 4)
), kind AS MATERIALIZED (
	SELECT nameId AS id, io AS type
	FROM SL_FUNCTIONS
	WHERE io IN (1, 3, 4)
	UNION ALL
	SELECT id, type
	FROM StringIds JOIN plain ON word = replace(replace(replace(value, '__', ''), '_chk', ''), '64', '')
	WHERE NOT EXISTS (SELECT 1 FROM SL_FUNCTIONS)
)

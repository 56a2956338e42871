-- kind(id, type, stdio): functions that open (1), read (3) or write (4), as in ENUM_OSRT_FILE_ACCESS_EVENT_TYPE, and whether they do so
-- on a stream's buffer (1), where their calls and bytes are not those of the kernel. A step of a WITH.
kind AS MATERIALIZED (
	SELECT nameId AS id, io AS type, isStdio AS stdio FROM SL_FUNCTION_KINDS WHERE io IN (1, 3, 4)
)

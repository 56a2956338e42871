-- mem_kind(id, label): kinds of memory, as ENUM_CUDA_MEM_KIND has them, which older reports lack.
CREATE TEMP TABLE mem_kind(id INTEGER PRIMARY KEY, label TEXT);
INSERT INTO mem_kind VALUES (0, 'Pageable'), (1, 'Pinned'), (2, 'Device'), (3, 'Array'), (4, 'Managed'),
	(5, 'Device Static'), (6, 'Managed Static'), (7, 'Unknown');

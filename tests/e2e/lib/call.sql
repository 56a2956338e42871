-- call.sql - the calls of a report with names instead of ids; read before every question (lib.sh: q).
CREATE TEMP VIEW call AS
SELECT o.rowid AS id, o.start, o.end, o.globalTid >> 24 & 0xffffff AS pid, o.globalTid & 0xffffff AS tid,
       n.value AS name, o.returnValue AS ret, o.errnum AS err, o.fd, o.bytesAsked AS asked,
       o.fileOffset AS off, p.value AS path, o.fileAccessId AS file, o.nestingLevel AS level
  FROM OSRT_API o JOIN StringIds n ON n.id = o.nameId LEFT JOIN StringIds p ON p.id = o.pathId;
CREATE TEMP VIEW total AS
SELECT t.globalTid >> 24 & 0xffffff AS pid, t.globalTid & 0xffffff AS tid, n.value AS name, t.*
  FROM SL_OSRT_TOTALS t JOIN StringIds n ON n.id = t.nameId;

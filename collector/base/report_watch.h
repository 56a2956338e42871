/*
 * report_watch.h - the lock of a process that follows a report, by which the collector makes rows
 * at once: a byte of the file, behind SQLite's lock bytes. The lock belongs to the open file
 * description (F_OFD_SETLK): SQLite's own locks go when the process closes any other descriptor of
 * the file.
 */
#pragma once

#define REPORT_WATCH_FROM 0x40000002 /* SQLite's file format: shared bytes */
#define REPORT_WATCH_AT   (REPORT_WATCH_FROM + 510)

/*
 * report_watch.h - what a process that follows a report has locked in it, so that the collector makes rows at once: a byte of the
 * file, behind those that SQLite locks. As an open file description's (F_OFD_SETLK): SQLite's own locks go when the process closes
 * any other descriptor of the file.
 */
#pragma once

#define REPORT_WATCH_FROM 0x40000002 /* SQLite's file format: shared bytes */
#define REPORT_WATCH_AT   (REPORT_WATCH_FROM + 510)

/* peer.h - the user of a connection from this machine. */
#pragma once

#include <sys/types.h>

#define VIEW_NOBODY ((uid_t)-1) /* not known: the other end is gone, or the kernel does not say */

/* The user at the other end of @fd, a TCP socket of the loopback device. */
uid_t view_peer_uid(int fd);

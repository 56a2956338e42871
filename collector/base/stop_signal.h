/* stop_signal.h - signals that ask the command to stop, while they are blocked. */
#pragma once

/* The pending one of SIGINT, SIGQUIT, SIGTERM and SIGHUP that is not ignored; 0: none. */
int stop_signal_pending(void);

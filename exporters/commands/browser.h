/* browser.h - opens an address in the user's browser that other users must not see. */
#pragma once

/* The page stays until browser_end(): the browser may take its time. */
void browser_open(const char *address);
/* Removes the page that browser_open() has left. */
void browser_end(void);

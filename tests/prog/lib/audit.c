/* audit.c - an auditor (rtld-audit(7)) that only asks for the interface's version: for LD_AUDIT. */
#include <link.h>

unsigned la_version(unsigned version)
{
	return version;
}

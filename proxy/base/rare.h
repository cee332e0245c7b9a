/* SPDX-License-Identifier: MIT */
/* A function that few requests need. It is not inlined where it is called, so that its variables cost the others
 * nothing. */
#ifndef PUSHGATE_BASE_RARE_H
#define PUSHGATE_BASE_RARE_H

#define RARE __attribute__((noinline))

#endif

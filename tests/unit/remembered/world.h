/* SPDX-License-Identifier: MIT */
/* The world of each test of this folder: made before the test, freed behind it. */
#ifndef PUSHGATE_TESTS_REMEMBERED_WORLD_OF_TEST_H
#define PUSHGATE_TESTS_REMEMBERED_WORLD_OF_TEST_H

#include "tests/support/remembered_world.h"

static struct remembered_world w;

static int set_up(void **state)
{
	(void)state;
	remembered_world_init(&w, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	remembered_world_fini(&w);
	return 0;
}

#endif

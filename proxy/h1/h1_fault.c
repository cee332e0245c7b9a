/* SPDX-License-Identifier: MIT */
/* The fault table. */
#include "proxy/h1/h1_fault.h"

const struct h1_fault h1_faults[H1_FAULT_COUNT] = {
#define H1_FAULT_ROW(symbol, name, section, status, text)                                          \
	[H1_FAULT_##symbol] = {name, section, text, status},
    H1_FAULTS(H1_FAULT_ROW)
#undef H1_FAULT_ROW
};

size_t h1_fault_index(const struct h1_fault *fault)
{
	return (size_t)(fault - h1_faults);
}

const char *h1_fault_name(size_t index)
{
	return index < H1_FAULT_COUNT ? h1_faults[index].name : NULL;
}

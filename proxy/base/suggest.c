/* SPDX-License-Identifier: MIT */
/* See suggest.h. */
#include "proxy/base/suggest.h"
#include "proxy/base/ascii.h"

struct suggestion suggest_for(struct slice word)
{
	return (struct suggestion){.word = word, .distance = word.len < 6 ? 2 : 3};
}

bool suggest_compare(struct suggestion *s, struct slice name, const void *item)
{
	bool begins = s->takes_beginning && s->word.len > 1 && slice_starts_with(name, s->word);
	unsigned distance = begins ? 0 : slice_distance(s->word, name, s->distance);

	if (distance >= s->distance)
		return false;
	s->distance = distance;
	s->item = item;
	return true;
}

struct slice suggest_fold(struct slice word, char buffer[SUGGEST_NAME_BYTES])
{
	word = slice_sub(word, 0, SUGGEST_NAME_BYTES);
	ascii_lower_copy(buffer, word);
	for (size_t i = 0; i < word.len; i++)
		if (buffer[i] == '_')
			buffer[i] = '-';
	return slice_of(buffer, word.len);
}

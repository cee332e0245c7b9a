/* SPDX-License-Identifier: MIT */
/* Setters of the options that say what the access log has: log-fields and log-sample. */
#include "proxy/conf/setters.h"
#include "proxy/conf/suggest.h"
#include "proxy/conf/value.h"
#include "proxy/log_fields.h"

#define SHOWN(s) SLICE_ARG(slice_sub((s), 0, 80))

#define NAME(name, ...) SLICE_INIT(#name),
static const struct slice names[LOG_FIELD_COUNT] = {LOG_FIELDS(NAME)};
#undef NAME

static const uint64_t every_field = LOG_FIELD_BIT(COUNT) - 1;

/* The field's bit. 0: there is no such field, which has been reported. */
static uint64_t bit_of(struct conf_loader *l, struct slice word)
{
	struct suggestion s = suggest_for(word);

	for (size_t i = 0; i < LOG_FIELD_COUNT; i++) {
		if (slice_equal(word, names[i]))
			return UINT64_C(1) << i;
		suggest_compare(&s, names[i], &names[i]);
	}
	const struct slice *near = s.item;
	if (near)
		conf_mistake_here(l, "the access log has no field '%.*s'; did you mean '%.*s'?",
		    SHOWN(word), SLICE_ARG(*near));
	else
		conf_mistake_here(
		    l, "the access log has no field '%.*s'; docs/LOG.md names them", SHOWN(word));
	return 0;
}

/* Either names, or `all` and then names with '-' before them. */
bool conf_set_log_fields(struct conf_loader *l, void *object, struct slice value)
{
	struct slice rest = value, word;
	bool is_first = true, is_all = false, is_good = true;
	uint64_t fields = 0;

	while (conf_next_word(l, &rest, &word, &is_good)) {
		if (is_first && slice_equal(word, SLICE("all"))) {
			is_all = true;
			is_first = false;
			fields = every_field;
			continue;
		}
		is_first = false;
		if (is_all != slice_starts_with(word, SLICE("-"))) {
			return conf_bad_value(
			    l, word, NULL, "write names, or all and what to leave out");
		}
		uint64_t bit = bit_of(l, is_all ? slice_from(word, 1) : word);
		if (bit == 0)
			return false;
		fields = is_all ? fields & ~bit : fields | bit;
	}
	if (!is_good)
		return false;
	if (fields == 0) {
		conf_mistake_here(
		    l, "log-fields leaves no field; write all, or the names of fields");
		return false;
	}
	((struct conf *)object)->server.log_left_out = every_field & ~fields;
	return true;
}

bool conf_set_log_sample(struct conf_loader *l, void *object, struct slice value)
{
	uint64_t number;

	if (!slice_starts_with(value, SLICE("1/")) ||
	    !slice_to_number(slice_from(value, 2), 1000000, &number) || number == 0)
		return conf_bad_value(
		    l, value, NULL, "write 1/1 for all lines, or a share from 1/2 to 1/1000000");
	((struct conf *)object)->server.log_sample = (uint32_t)number;
	return true;
}

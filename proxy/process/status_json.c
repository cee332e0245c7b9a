/* SPDX-License-Identifier: MIT */
/*
 * Turns the text of `pushgate status` into one JSON object, a family on each line:
 *
 *	"NAME": {"type": "counter", "help": "…", "samples": [{"labels": {"a": "b"}, "value": 1}]}
 *
 * A sample with another name than its family, NAME_bucket, NAME_sum or NAME_count of a histogram, has that as "name".
 * The escapes of a label's value (\\, \" and \n) mean the same in JSON, so it is copied as it is.
 */
#include "proxy/process/status.h"

struct writer {
	FILE *out;
	struct slice help;          /* of the family that comes next */
	struct slice family;        /* its name */
	unsigned families, samples; /* samples: of this family */
};

/* Text that has no quotes escaped: that of HELP. */
static void write_text(FILE *out, struct slice text)
{
	fputc('"', out);
	for (size_t i = 0; i < text.len; i++)
		fprintf(out, "%s%c", text.ptr[i] == '"' ? "\\" : "", text.ptr[i]);
	fputc('"', out);
}

static void write_type(struct writer *w, struct slice line)
{
	struct slice name = w->family = slice_cut(&line, ' ');
	fprintf(w->out,
	    "%s  \"%.*s\": {\"type\": \"%.*s\", \"help\": ", w->families > 0 ? "]},\n" : "",
	    SLICE_ARG(name), SLICE_ARG(line));
	write_text(w->out, w->help);
	fputs(", \"samples\": [", w->out);
	w->families++;
	w->samples = 0;
}

/* A label's value, from its quote on, as it is. */
static void write_value(struct writer *w, struct slice *rest)
{
	size_t end = 1;
	while (end < rest->len && rest->ptr[end] != '"')
		end += rest->ptr[end] == '\\' ? 2 : 1;
	struct slice value = slice_sub(*rest, 0, end + 1);
	fprintf(w->out, "%.*s", SLICE_ARG(value));
	*rest = slice_from(*rest, end + 1);
}

static void write_sample(struct writer *w, struct slice line)
{
	size_t name = 0;
	while (name < line.len && line.ptr[name] != '{' && line.ptr[name] != ' ')
		name++;
	struct slice own = slice_sub(line, 0, name);
	line = slice_from(line, name);
	fprintf(w->out, "%s{", w->samples++ > 0 ? ", " : "");
	if (!slice_equal(own, w->family))
		fprintf(w->out, "\"name\": \"%.*s\", ", SLICE_ARG(own));
	fputs("\"labels\": {", w->out);
	for (unsigned labels = 0; line.len > 0 && (line.ptr[0] == '{' || line.ptr[0] == ',');
	     labels++) {
		line = slice_from(line, 1);
		struct slice label = slice_cut(&line, '=');
		fprintf(w->out, "%s\"%.*s\": ", labels > 0 ? ", " : "", SLICE_ARG(label));
		write_value(w, &line);
	}
	if (slice_starts_with(line, SLICE("}")))
		line = slice_from(line, 1);
	struct slice value = slice_trim(line);
	fprintf(w->out, "}, \"value\": %.*s}", SLICE_ARG(value));
}

void status_json(const char *text, FILE *out)
{
	struct writer w = {.out = out};
	struct slice rest = slice_of_string(text);
	fputs("{\n", out);
	while (rest.len > 0) {
		struct slice line = slice_cut(&rest, '\n');
		if (slice_starts_with(line, SLICE("# HELP "))) {
			w.help = slice_from(line, 7);
			slice_cut(&w.help, ' ');
		} else if (slice_starts_with(line, SLICE("# TYPE "))) {
			write_type(&w, slice_from(line, 7));
		} else if (line.len > 0 && line.ptr[0] != '#') {
			write_sample(&w, line);
		}
	}
	fprintf(out, "%s\n}\n", w.families > 0 ? "]}" : "");
}

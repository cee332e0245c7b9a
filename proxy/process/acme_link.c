/* SPDX-License-Identifier: MIT */
/* A worker's link to the ACME process: what answers challenges comes, and nothing goes. */
#include "proxy/process/acme_helper.h"

bool acme_helper_is_needed(const struct conf *conf)
{
	return conf->server.acme.directory != NULL;
}

static bool take(void *context, const void *message, int fd)
{
	struct acme_link *l = context;
	const struct acme_link_message *m = message;
	if (fd >= 0 || !acme_token_is_good(slice_of(m->thumbprint, ACME_THUMBPRINT_BYTES)) ||
	    m->thumbprint[ACME_THUMBPRINT_BYTES] != '\0' ||
	    m->challenge.name[NET_CHALLENGE_NAME_BYTES - 1] != '\0')
		return false;
	l->message = *m;
	return true;
}

static bool refuse(void *context)
{
	const struct acme_link *l = context;
	observe_log(l->observe, OBSERVE_ERROR,
	    "the ACME process sent a malformed message; it is not listened to until it is started "
	    "again");
	return false;
}

static const struct helper_link_row row = {
    .message_bytes = sizeof(struct acme_link_message), .take = take, .refuse = refuse};

_Static_assert(
    sizeof(struct acme_link_message) <= HELPER_LINK_BYTES_MOST, "a message of the ACME process");

void acme_link_init(struct acme_link *l)
{
	*l = (struct acme_link){0};
	helper_link_init(&l->link, &row, l);
}

/* SPDX-License-Identifier: MIT */
/*
 * Notices that the peer of a connection does not answer any more, although its TCP may. Only while
 * streams are open and nothing has come for PING_EVERY_USEC a PING is sent; if nothing at all comes
 * within PING_ANSWER_USEC, the peer is gone. More PINGs would be taken for an attack: gRPC servers
 * end connections for more than one in five minutes. Where the peer still takes what was sent before
 * the PING, the answer may come later.
 */
#ifndef PUSHGATE_PROTOCOLS_PEER_SILENCE_H
#define PUSHGATE_PROTOCOLS_PEER_SILENCE_H

#include "proxy/net/net.h"
#include "proxy/session/session.h"

#define PING_EVERY_USEC (300 * USEC_PER_SEC)
#define PING_ANSWER_USEC (30 * USEC_PER_SEC)

struct peer_silence {
	usec heard;         /* when bytes last came from the peer */
	usec asked;         /* a PING was sent after that; 0: none was */
	uint64_t delivered; /* bytes that the peer's TCP had acknowledged then */
};

static inline void peer_silence_heard(struct peer_silence *p, usec now)
{
	*p = (struct peer_silence){.heard = now};
}

/*
 * What was due has not come: asks the peer by a PING. True: it has been asked already, and is gone. If it is still
 * taking bytes, it may not have got to the PING, and has as much time again. session_now: by the clock of the session.
 */
static inline bool peer_silence_is_final(struct peer_silence *p, struct session *s,
    const struct net_conn *net, usec session_now, usec now)
{
	if (!p->asked)
		session_ping(s, session_now);
	else if (!net_conn_is_undelivered(net) || net_conn_delivered(net) == p->delivered)
		return true;
	p->asked = now;
	p->delivered = net_conn_delivered(net);
	return false;
}

/* When a PING or its answer is due. */
static inline usec peer_silence_deadline(const struct peer_silence *p)
{
	return p->asked ? p->asked + PING_ANSWER_USEC : p->heard + PING_EVERY_USEC;
}

#endif

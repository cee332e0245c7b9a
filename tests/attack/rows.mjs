/* SPDX-License-Identifier: MIT */
/*
 * All attacks. A row:
 *   name, what        what it is called in the table, and what it does; covers: the requirement (docs/REQUIREMENTS.md)
 *   tape(env)         what each connection sends (raw.mjs), with lives, reads; or
 *   attack(env, clock, origin)    anything else; gives a Tally
 *   listen(env)       an attack by an origin (Evil), at env.evil: serves what is asked for at the host evil.test
 *   by                'client': though there is such an origin, the attack is a client's
 *   tls               over TLS
 *   http1             the honest client speaks HTTP/1.1 too, and an honest origin does, the one of the host one.test
 *   admin             the gate has an admin listener at env.admin, with these lines more
 *   behind            it has a listener for balancers at env.behind, with proxy-protocol and these lines more
 *   forward           the gate is a forward proxy, whose destinations are on the loopback; the honest client uses it, in both versions
 *                     and through tunnels. Of [origin …] and [route …] there is one each
 *   server, listener, evil    more lines of [server], [listen main], [origin evil]; of the first and the last also a function that gives
 *                     them: server(dir, env), evil(env), where env.honest is the port of the honest origin
 *   origin, route     more lines of each other [origin …], and of each [route …]
 *   rules             more sections
 *   workers           of the program, 1 if not given
 *   limit             descriptors that the program may have
 *   ms, rounds        another time than the others, a fixed number of rounds; brief: the time in a short run,
 *                     longer where a time limit must end what an origin does
 *   fresh: false      new honest connections are not expected to be served meanwhile
 *   expect            what must have come of it:
 *     end             how connections end: 'GOAWAY CODE debug' or 'closed', or a list of those that may be, of which the first
 *                     must occur; not given: none may end before the attacker ends it; null: anything
 *     resets          codes of RST_STREAM that may come; the first must
 *     statuses        of responses (of an evil origin's clients: to those of HTTP/2 and to those of HTTP/1.1): the first must come, no other than those may
 *     many            so many of the first status, over HTTP/2, may end the attack when its time is over, 200 if not given
 *     answers         {status: how many of it must come at least, over HTTP/2}
 *     strangers       true: answers to something else than what was asked for may come (Plain)
 *     faults, counters    of `pushgate status` that must have moved; that of a GOAWAY's fault must anyway
 *     cpu             µs per frame at most
 *     rss             MB at most, 32 if not given
 *     log             warnings that are all right
 *     judge(result)   gives what is wrong, or nothing
 */
import { admin } from './rows/admin.mjs';
import { blocks } from './rows/blocks.mjs';
import { broken } from './rows/broken.mjs';
import { crowds } from './rows/crowds.mjs';
import { fleet } from './rows/fleet.mjs';
import { floods } from './rows/floods.mjs';
import { forward } from './rows/forward.mjs';
import { http1 } from './rows/http1.mjs';
import { http1Origins } from './rows/http1_origins.mjs';
import { kept } from './rows/kept.mjs';
import { origins } from './rows/origins.mjs';
import { peers } from './rows/peers.mjs';
import { requestLimits } from './rows/request_limits.mjs';
import { resets } from './rows/resets.mjs';
import { slow } from './rows/slow.mjs';
import { tunnels } from './rows/tunnels.mjs';
import { windows } from './rows/windows.mjs';

export const rows = [...resets, ...floods, ...blocks, ...windows, ...slow, ...crowds, ...requestLimits, ...broken, ...http1, ...tunnels, ...kept, ...origins, ...http1Origins, ...fleet, ...forward, ...admin, ...peers];

/* SPDX-License-Identifier: MIT */
/*
 * All attacks. A row:
 *   name, what        what it is called in the table, and what it does
 *   tape(env)         what each connection sends (raw.mjs), with connections, lives, reads, settings, wait; or
 *   attack(env, until, {Tally, addressOf})     anything else
 *   listen(env, {port})    an attack by an origin: serves what is asked for at the host evil.test
 *   tls               over TLS
 *   server, listener, origin    more lines of [server], [listen main], [origin main]
 *   limit             descriptors that the program may have
 *   fresh: false      new honest connections are not expected to be served meanwhile
 *   expect            what must have come of it:
 *     end             a connection's end: 'GOAWAY CODE debug', 'closed', 'open', or a list of those that may be; the first must occur
 *     resets          codes of RST_STREAM that may come; the first must
 *     counters        of `pushgate status` that must have moved
 *     cpu             µs per frame at most
 *     rss             MB at most, 32 if not given
 *     log             warnings that are all right
 *     judge(result)   gives what is wrong, or nothing
 */
import { resets } from './rows/resets.mjs';
import { floods } from './rows/floods.mjs';

export const rows = [...resets, ...floods];

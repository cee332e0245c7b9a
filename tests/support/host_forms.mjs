// SPDX-License-Identifier: MIT
/*
 * Ways to write a host in a request, by how many readings they have, for rules that name internal.example and 10.0.0.1.
 * {host, why}; `host` stands where the authority of a request does, so that some have a port.
 *
 *   SAME    one reading: a host that the rules name
 *   OTHER   one reading: a host that they do not name
 *   TWO     several readings: some programs take the text for another host than its bytes say
 *   NONE    no reading: no host name of RFC 3986, which is answered 400 whatever the rules say
 */
import { LITERALS } from './address_forms.mjs';

const list = (...rows) => rows.map(([host, why]) => ({ host, why }));

export const NAMED = ['internal.example', '10.0.0.1'];

export const SAME = list(
	['internal.example', 'as it is named'],
	['INTERNAL.Example', 'upper case'],
	['internal.example.', 'a final dot'],
	['internal.example:80', 'the usual port'],
	['internal.example:443', 'the usual port of https'],
	['internal.example:8080', 'another port'],
	['internal.example:', 'an empty port'],
	['internal.example.:80', 'a final dot and a port'],
	['10.0.0.1', 'the address as it is named'],
	['10.0.0.1:80', 'the address with a port'],
);

export const OTHER = list(
	['www.example', 'another name'],
	['internal.example.com', 'a name that begins as the named one'],
	['x.internal.example', 'a name below the named one'],
	['_x.example', 'an underscore'],
	['10.0.0.2', 'another address'],
	['[2001:db8::1]', 'an IPv6 address'],
);

export const TWO = [
	...list(
		['%69nternal.example', 'a percent-encoded letter'],
		['%49NTERNAL.example', 'the same in upper case'],
		['internal%2eexample', 'a percent-encoded dot'],
		['internal.example%2E', 'a percent-encoded final dot'],
		['internal.example..', 'two final dots'],
		['internal.example..:80', 'two final dots and a port'],
		['.internal.example', 'a dot at the start'],
		['internal..example', 'an empty label'],
		['x..internal.example', 'an empty label before the named host'],
		['%EF%BD%89nternal.example', 'a fullwidth letter'],
		['internal%E3%80%82example', 'an ideographic full stop'],
		['inter%C2%ADnal.example', 'a soft hyphen'],
		['internal.example!', 'a sub-delimiter'],
		['internal.example;x', 'a parameter'],
		['10.1', 'two parts'],
		['10.0.1', 'three parts'],
		['0x0a.0.0.1', 'a hexadecimal part'],
		['0xA000001', 'hexadecimal'],
		['167772161', 'decimal'],
		['012.0.0.1', 'an octal part'],
		['01200000001', 'octal'],
		['10.0.0.01', 'a leading zero'],
		['10.0.0.1.', 'an address with a final dot'],
		['10.0.0.1.:80', 'an address with a final dot and a port'],
		['10.0.0.1..', 'an address with two final dots'],
		['%31%30.0.0.1', 'percent-encoded digits'],
		['%EF%BC%91%EF%BC%90.0.0.1', 'fullwidth digits'],
		['[::ffff:10.0.0.1]', 'an IPv4-mapped address'],
		['[::FFFF:a00:1]', 'the same in hexadecimal'],
		['[0:0:0:0:0:ffff:a00:1]:80', 'the same, all of it written, with a port'],
	),
	...LITERALS.filter((row) => row.reason === 'host-strange'),
];

export const NONE = [
	...list(
		['', 'nothing'],
		[':80', 'a port alone'],
		['.', 'a dot alone'],
		['...:80', 'dots and a port'],
		['%00', 'an encoded NUL'],
		['internal.example%00', 'an encoded NUL at the end'],
		['internal.example%00.www.example', 'an encoded NUL'],
		['www.example%0d%0ahost:internal.example', 'an encoded end of line'],
		['www.example%20internal.example', 'an encoded space'],
		['internal.example%2Fx', 'an encoded slash'],
		['internal.example%5c', 'an encoded backslash'],
		['internal.example%3f', 'an encoded question mark'],
		['internal.example%23', 'an encoded number sign'],
		['internal.example%3A80', 'an encoded colon'],
		['user%40internal.example', 'encoded userinfo'],
		['%5B::ffff:10.0.0.1%5D', 'encoded brackets'],
		['%2569nternal.example', 'an encoding of an encoding'],
		['internal.example%7f', 'an encoded control byte'],
		['internal.example%', 'half an encoding'],
		['internal.example%zz', 'no encoding'],
		['user@internal.example', 'userinfo'],
		['user:password@internal.example:80', 'userinfo with a password'],
		['internal.example:0', 'no port'],
		['internal.example:65536', 'a port that is too large'],
		['internal.example:80:80', 'two ports'],
		['internal.example:+80', 'a sign before the port'],
		['internal.example\\x', 'a backslash'],
		['internal.example,www.example:80,', 'a list'],
	),
	...LITERALS.filter((row) => row.status === 400),
];

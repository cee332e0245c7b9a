/* SPDX-License-Identifier: MIT */
/*
 * Lists of structured fields (RFC 8941 4.2.1), strictly: what does not parse throws. Members are
 * { value, params }; tokens and strings alike come as text, integers as numbers.
 */
export function parseList(text) {
	let at = 0;
	const fail = (what) => { throw new Error(`${what} at ${at} of ${JSON.stringify(text)}`); };
	const take = (pattern, what) => {
		pattern.lastIndex = at;
		const m = pattern.exec(text) ?? fail(`no ${what}`);
		at = pattern.lastIndex;
		return m[0];
	};
	const bare = () => {
		const c = text[at] ?? fail('no item');
		if (c === '"')
			return take(/"(?:[ !#-[\]-~]|\\["\\])*"/y, 'string').slice(1, -1).replace(/\\(.)/g, '$1');
		if (c === '?')
			return take(/\?[01]/y, 'boolean') === '?1';
		if (/[-0-9]/.test(c))
			return Number(take(/-?[0-9]{1,15}(?![0-9.])/y, 'integer'));
		return take(/[A-Za-z*][!#$%&'*+.^_`|~:/0-9A-Za-z-]*/y, 'token');
	};
	const item = () => {
		const member = { value: bare(), params: {} };
		while (text[at] === ';') {
			take(/; */y, 'parameter');
			const key = take(/[a-z*][a-z0-9_.*-]*/y, 'key');
			member.params[key] = text[at] === '=' ? (at++, bare()) : true;
		}
		return member;
	};
	const list = [];
	take(/ */y, 'spaces');
	while (at < text.length) {
		list.push(item());
		take(/[ \t]*/y, 'spaces');
		if (at === text.length)
			break;
		take(/,[ \t]*/y, 'comma');
		if (at === text.length)
			fail('a trailing comma');
	}
	return list;
}

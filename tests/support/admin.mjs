/* SPDX-License-Identifier: MIT */
/* A gate with an admin listener at s.admin, and what asks it over HTTP/1.1. */
import http from 'node:http';
import { freePort, scenario, section } from './gate.mjs';

/* {status, headers, text}. where: options of http.request. */
export function fetchPage(port, asked, { method = 'GET', headers = {}, ...where } = {}) {
	return new Promise((resolve, reject) => {
		http.request({ host: '127.0.0.1', port, ...where, path: asked, method, headers, agent: false }, (response) => {
			let text = '';
			response.setEncoding('utf8').on('data', (part) => { text += part; })
				.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text })).on('error', reject);
		}).on('error', reject).end();
	});
}

/* As scenario; s.api('pages') is the object that /api/pages answers with. */
export function withAdmin(name, options, body) {
	const { extra = '', admin = {}, ...rest } = options;
	return scenario(name, {
		...rest,
		prepare: async (s) => {
			s.admin = await freePort();
			await options.prepare?.(s);
			s.options.extra = section('listen admin', { address: `127.0.0.1:${s.admin}`, mode: 'admin', ...admin }) + (typeof extra === 'function' ? extra(s) : extra);
			s.fetch = (asked, more) => fetchPage(s.admin, asked, more);
			s.api = async (asked) => {
				const { status, text } = await s.fetch(`/api/${asked}`);
				if (status !== 200)
					throw new Error(`/api/${asked}: ${status} ${text}`);
				return JSON.parse(text);
			};
		},
	}, body);
}

/* Server-sent events: {events, close}; events are {event, data} in their order. */
export function listenTo(port, asked = '/events') {
	const got = { events: [], bytes: 0 };
	let rest = '';
	const request = http.get({ host: '127.0.0.1', port, path: asked, agent: false }, (response) => {
		got.status = response.statusCode;
		got.type = response.headers['content-type'];
		response.setEncoding('utf8').on('data', (part) => {
			got.bytes += part.length;
			const blocks = (rest + part).split('\n\n');
			rest = blocks.pop();
			for (const block of blocks) {
				const fields = Object.fromEntries(block.split('\n').filter((l) => !l.startsWith(':')).map((l) => [l.slice(0, l.indexOf(':')), l.slice(l.indexOf(':') + 2)]));
				if (fields.event)
					got.events.push({ event: fields.event, data: JSON.parse(fields.data) });
			}
		}).on('end', () => { got.isOver = true; }).on('error', () => { got.isOver = true; });
	}).on('error', () => { got.isOver = true; });
	got.close = () => request.destroy();
	return got;
}

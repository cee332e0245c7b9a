/* SPDX-License-Identifier: MIT */
/* Measuring: gates with a relay in front of each, and visitors who come to them in turn, so that noise hits all alike. */
import fs from 'node:fs';
import { workDir } from '../support/gate.mjs';
import { delay } from '../support/delay.mjs';
import { OTHERS, certificates, openGate } from './gates.mjs';
import { openOrigin } from './origin.mjs';
import { openBrowser, openVisitor } from './visitor.mjs';

const KINDS = ['first', 'repeat', 'reload'];
/* The visitors before those that are measured: what is remembered by then is from them. */
const TEACHERS = 2;

export class Bench {
	#cleanups = [];
	#relays = {};
	#address = 256;

	/* names: of gates. source, cells: of gates.mjs. sites: of origin.mjs. */
	async open({ names, source, cells, sites }) {
		this.dir = workDir();
		const s = { dir: this.dir, cleanups: this.#cleanups };
		this.origin = await openOrigin({ sites });
		this.namingOrigin = await openOrigin({ sites, names: true });
		this.#cleanups.push(() => this.origin.close(), () => this.namingOrigin.close());
		const certificate = certificates();
		for (const name of names) {
			const port = await openGate(s, name, { source, cells, certificate, origin: this.origin.port, namingOrigin: this.namingOrigin.port });
			this.#relays[name] = await delay(port, 0);
			this.#cleanups.push(() => this.#relays[name].close());
		}
		this.browser = await openBrowser(certificate.pem);
		this.#cleanups.push(() => this.browser.close());
		return this;
	}
	async close() {
		for (const end of this.#cleanups.splice(0).reverse())
			await end();
		fs.rmSync(this.dir, { recursive: true, force: true });
	}

	/* A visitor with an address of its own, ms away. */
	async visitor(name, { host = 'www', path, ms, rate = 0 }) {
		const relay = this.#relays[name];
		const n = ++this.#address;
		relay.cut();
		Object.assign(relay.way, { ms, rate, from: `127.0.${(n >> 8) & 255}.${n & 255}` });
		return openVisitor(this.browser, `https://${host}.value.test:${relay.port}${path}`);
	}
	/* One visit, with what the origin was asked for because of it. */
	async #visit(name, visitor, kind) {
		const relay = this.#relays[name];
		/* Whoever comes back comes over another connection. */
		if (kind === 'repeat')
			relay.cut();
		const before = relay.bytes.down;
		const times = await visitor[kind]();
		const asked = [...await this.origin.take(), ...await this.namingOrigin.take()];
		return { ...times, asked, down: relay.bytes.down - before };
	}
	async teach(name, place) {
		for (let i = 0; i < TEACHERS; i++) {
			const visitor = await this.visitor(name, { ...place, ms: 0, rate: 0 });
			try {
				await this.#visit(name, visitor, 'first');
			} finally {
				await visitor.close();
			}
		}
	}
	/* runs visitors of each gate, each of whom comes, and at some gates comes again and reloads. Gives {gate: {kind: [visit]}}. */
	async compare(names, place, runs) {
		const kindsOf = (name) => (OTHERS.includes(name) ? KINDS.slice(0, 1) : KINDS);
		const all = Object.fromEntries(names.map((name) => [name, Object.fromEntries(kindsOf(name).map((kind) => [kind, []]))]));
		for (const name of names)
			await this.teach(name, place);
		for (let run = 0; run < runs; run++)
			for (let i = 0; i < names.length; i++) {
				const name = names[(i + run) % names.length];
				const visitor = await this.visitor(name, place);
				try {
					for (const kind of kindsOf(name))
						all[name][kind].push(await this.#visit(name, visitor, kind));
				} finally {
					await visitor.close();
				}
			}
		return all;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Chromium as visitors see a site with it: each visitor has a cache of its own, which is empty at first. It finds all names
 * below value.test on this machine and no others, so that pages which name other sites are measured without those.
 */
import { X509Certificate, createHash } from 'node:crypto';
import fs from 'node:fs';

const PATIENCE = 60000;

/* certificate: the file of the one that all gates show. */
export async function openBrowser(certificate) {
	const { chromium } = await import('../browser/node_modules/playwright-core/index.mjs');
	const key = new X509Certificate(fs.readFileSync(certificate)).publicKey.export({ type: 'spki', format: 'der' });
	return chromium.launch({
		executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
		args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
			'--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
			'--host-resolver-rules=MAP *.value.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
			`--ignore-certificate-errors-spki-list=${createHash('sha256').update(key).digest('base64')}`],
	});
}

const times = () => {
	const [navigation] = performance.getEntriesByType('navigation');
	const paint = performance.getEntriesByName('first-contentful-paint')[0];
	return navigation?.loadEventEnd > 0 && paint ? { paint: paint.startTime, load: navigation.loadEventEnd, request: navigation.requestStart } : null;
};

/* A visitor. Gives {first, repeat, reload, close}: each visit gives {paint, load, request}, in ms since its navigation began. */
export async function openVisitor(browser, url) {
	const context = await browser.newContext();
	context.setDefaultTimeout(PATIENCE);
	const page = await context.newPage();
	const complaints = [];
	page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) complaints.push(m.text()); });
	const measured = async () => (await page.waitForFunction(times, undefined, { polling: 50 })).jsonValue();
	const go = async () => {
		await page.goto(url, { waitUntil: 'load' });
		return measured();
	};
	return {
		page, complaints,
		first: go,
		async repeat() {
			await page.goto('about:blank');
			return go();
		},
		async reload() {
			await page.reload({ waitUntil: 'load' });
			return measured();
		},
		close: () => context.close(),
	};
}

/* SPDX-License-Identifier: MIT */
/*
 * Debian's Chromium with a profile of its own, for one test. It trusts the test certificate by its key, so that
 * to it this is an ordinary secure site: with --ignore-certificate-errors nothing would be cached.
 *
 * CHROMIUM names the browser; PUSHGATE_NO_BROWSER=1 leaves these tests out, where there can be none.
 */
import { X509Certificate, createHash } from 'node:crypto';
import fs from 'node:fs';
import { certs, workDir } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';

export const skip = process.env.PUSHGATE_NO_BROWSER === '1' ? 'PUSHGATE_NO_BROWSER=1' : false;
const { chromium } = skip ? {} : await import('playwright-core');

function keyDigest() {
	const key = new X509Certificate(certs().server.cert).publicKey.export({ type: 'spki', format: 'der' });
	return createHash('sha256').update(key).digest('base64');
}

/*
 * args: more of the browser's options. Gives {page, cdp, complaints}: a blank page, its DevTools session with Network
 * enabled, and what the page's console or its loading complained of. All ends with the scenario.
 */
export async function browse(s, args = []) {
	const profile = workDir();
	s.cleanups.push(() => fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
	const context = await chromium.launchPersistentContext(profile, {
		executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
		timeout: 30000 * SCALE,
		args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
			'--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
			`--ignore-certificate-errors-spki-list=${keyDigest()}`, ...args],
	});
	s.cleanups.push(() => context.close());
	context.setDefaultTimeout(20000 * SCALE);
	const [page] = context.pages();
	const complaints = [];
	page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) complaints.push(m.text()); });
	page.on('pageerror', (error) => complaints.push(error.message));
	page.on('requestfailed', (r) => complaints.push(`${r.url()}: ${r.failure()?.errorText}`));
	const cdp = await context.newCDPSession(page);
	await cdp.send('Network.enable');
	return { page, cdp, complaints };
}

/* What a person would type when asked for a password, in turn; then the person gives up. Gives the list of what was asked. */
export async function typePasswords(cdp, username, passwords) {
	const asked = [];
	await cdp.send('Fetch.enable', { handleAuthRequests: true });
	cdp.on('Fetch.requestPaused', ({ requestId }) => { cdp.send('Fetch.continueRequest', { requestId }).catch(() => {}); });
	cdp.on('Fetch.authRequired', ({ requestId, authChallenge }) => {
		asked.push(authChallenge);
		const password = passwords.shift();
		cdp.send('Fetch.continueWithAuth', { requestId, authChallengeResponse: password === undefined
			? { response: 'CancelAuth' } : { response: 'ProvideCredentials', username, password } }).catch(() => {});
	});
	return asked;
}

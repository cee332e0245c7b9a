/* SPDX-License-Identifier: MIT */
/* Real start pages, as npm packages and Debian ship them, each under a host of its own. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../support/gate.mjs';
import { run } from '../support/programs.mjs';
import { startWordpress } from '../peers/wordpress.mjs';

/* How long an application works on a page, where there is only a folder of files. */
export const PAGE_MS = 200;

const npm = (name) => path.join(ROOT, 'tests/value/node_modules', name);
const playwright = (name) => path.join(ROOT, 'tests/browser/node_modules/playwright-core/lib/vite', name);

/* host: {what, folder, page}. */
export const SITES = {
	creative: { what: 'landing page (startbootstrap-creative)', folder: npm('startbootstrap-creative/dist') },
	resume: { what: 'personal page (startbootstrap-resume)', folder: npm('startbootstrap-resume/dist') },
	sidebar: { what: 'plain page with a menu (startbootstrap-simple-sidebar)', folder: npm('startbootstrap-simple-sidebar/dist') },
	boilerplate: { what: 'nearly empty page (html5-boilerplate)', folder: npm('html5-boilerplate/dist') },
	admin: { what: 'dashboard with jQuery (startbootstrap-sb-admin-2)', folder: npm('startbootstrap-sb-admin-2') },
	material: { what: 'dashboard theme (material-dashboard)', folder: npm('material-dashboard'), page: '/pages/dashboard.html' },
	softui: { what: 'design system (soft-ui-design-system)', folder: npm('soft-ui-design-system') },
	shop: { what: 'shop theme (gentelella, e_commerce)', folder: npm('gentelella/dist'), page: '/production/e_commerce.html' },
	gentelella: { what: 'dashboard with modules (gentelella)', folder: npm('gentelella/dist'), page: '/production/index.html' },
	reveal: { what: 'slides (reveal.js)', folder: npm('reveal.js') },
	swagger: { what: 'application, one bundle (swagger-ui-dist)', folder: npm('swagger-ui-dist') },
	vitest: { what: 'application, Vite build (@vitest/ui)', folder: npm('@vitest/ui/dist/client') },
	trace: { what: 'application, Vite build (Playwright trace viewer)', folder: playwright('traceViewer') },
	flask: { what: "documentation by Sphinx (Debian's python-flask-doc)", folder: '/usr/share/doc/python-flask-doc/html' },
	wordpress: { what: "WordPress 6.1 of Debian, in Apache's PHP" },
};

/* WordPress takes the host and the port of its URLs from each request: every gate has another port. */
const ANY_HOST = `if (isset($_SERVER['HTTP_HOST'])) {
	define('WP_HOME', 'https://' . $_SERVER['HTTP_HOST']);
	define('WP_SITEURL', WP_HOME);
}`;

async function installWordpress(port) {
	const form = {
		weblog_title: 'A site', user_name: 'ada', admin_password: 'correct horse battery staple',
		admin_password2: 'correct horse battery staple', admin_email: 'ada@value.test', blog_public: 0,
	};
	const fields = Object.entries(form).flatMap(([name, value]) => ['--data-urlencode', `${name}=${value}`]);
	const got = await run('curl', ['-sS', '-H', 'Host: wordpress.value.test', '-H', 'X-Forwarded-Proto: https', ...fields,
		`http://127.0.0.1:${port}/wp-admin/install.php?step=2`]);
	assert.match(got.stdout, /WordPress has been installed/);
}

/* hosts: which of SITES. s: {dir, cleanups}. Gives what origin.mjs wants: {host: {folder | port, think}}. */
export async function openSites(s, hosts) {
	const sites = {};
	for (const host of hosts) {
		const { folder } = SITES[host];
		if (folder) {
			assert.ok(fs.existsSync(folder), `${folder} is missing: scripts/setup value`);
			sites[`${host}.value.test`] = { folder, think: PAGE_MS };
			continue;
		}
		const port = await startWordpress(s, ANY_HOST);
		await installWordpress(port);
		sites[`${host}.value.test`] = { port };
	}
	return sites;
}

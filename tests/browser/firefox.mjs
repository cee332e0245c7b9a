/* SPDX-License-Identifier: MIT */
/*
 * Debian's Firefox without a window, for one test, by its own protocol for that (Marionette): messages with their length in
 * front, [0, id, command, parameters] and [1, id, error, result]. It takes the test certificate because it is told to.
 *
 * It is large, so scripts/setup installs it only when asked to (scripts/setup firefox); where it is not, these tests are left out.
 */
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { freePort, until, workDir } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';

const FIREFOX = process.env.FIREFOX ?? 'firefox-esr';

export const skipFirefox = process.env.PUSHGATE_NO_BROWSER === '1' ? 'PUSHGATE_NO_BROWSER=1'
	: spawnSync(FIREFOX, ['--version'], { stdio: 'ignore' }).status === 0 ? false : 'no Firefox here (scripts/setup firefox)';

/* Nothing that it would ask its maker for. */
const PREFERENCES = {
	'app.normandy.enabled': false, 'app.update.enabled': false, 'browser.safebrowsing.malware.enabled': false,
	'browser.safebrowsing.phishing.enabled': false, 'datareporting.policy.dataSubmissionEnabled': false,
	'dom.push.connection.enabled': false, 'extensions.systemAddon.update.enabled': false, 'network.captive-portal-service.enabled': false,
	'network.connectivity-service.enabled': false, 'services.settings.server': 'data:,none', 'toolkit.telemetry.enabled': false,
};

async function marionette(port) {
	let socket;
	await until('Firefox listens', () => new Promise((resolve) => {
		socket = net.connect(port, '127.0.0.1', () => resolve(true));
		socket.once('error', () => resolve(false));
	}), 30000 * SCALE);
	let [bytes, id] = [Buffer.alloc(0), 0];
	const waiting = new Map();
	socket.on('data', (more) => {
		bytes = Buffer.concat([bytes, more]);
		for (let colon; (colon = bytes.indexOf(':')) > 0;) {
			const end = colon + 1 + Number(bytes.subarray(0, colon));
			if (bytes.length < end)
				return;
			const message = JSON.parse(bytes.subarray(colon + 1, end));
			bytes = bytes.subarray(end);
			if (!Array.isArray(message)) /* its greeting */
				continue;
			const [, of, error, result] = message, { resolve, reject } = waiting.get(of);
			error ? reject(new Error(`${error.error}: ${error.message}`)) : resolve(result?.value ?? result);
		}
	});
	const command = (name, parameters = {}) => new Promise((resolve, reject) => {
		const text = JSON.stringify([0, ++id, name, parameters]);
		waiting.set(id, { resolve, reject });
		socket.write(`${Buffer.byteLength(text)}:${text}`);
	});
	return { command, close: () => socket.destroy() };
}

/*
 * Gives {navigate, run, messages}: navigate(url) waits for the page's load; run(script) gives what the script returns in the
 * page; messages() all that has come into the browser's console. It ends with the scenario.
 */
export async function fox(s) {
	const profile = workDir(), port = await freePort();
	s.cleanups.push(() => fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
	fs.writeFileSync(path.join(profile, 'user.js'), Object.entries({ ...PREFERENCES, 'marionette.port': port })
		.map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(''));
	const child = spawn(FIREFOX, ['--headless', '--no-remote', '--profile', profile, '--marionette', '--remote-allow-system-access'],
		{ stdio: 'ignore', env: { ...process.env, HOME: profile, MOZ_CRASHREPORTER_DISABLE: '1' } });
	const gone = new Promise((resolve) => { child.once('exit', resolve); });
	s.cleanups.push(async () => { child.kill('SIGKILL'); await gone; });
	const { command, close } = await marionette(port);
	s.cleanups.push(close);
	await command('WebDriver:NewSession', { acceptInsecureCerts: true });
	const inContext = async (context, script) => {
		await command('Marionette:SetContext', { value: context });
		return command('WebDriver:ExecuteScript', { script, args: [], newSandbox: true });
	};
	return {
		navigate: async (url) => {
			await command('Marionette:SetContext', { value: 'content' });
			await command('WebDriver:Navigate', { url });
		},
		run: (script) => inContext('content', script),
		messages: () => inContext('chrome', 'return Services.console.getMessageArray().map((m) => m.message ?? String(m));'),
	};
}

/* SPDX-License-Identifier: MIT */
/*
 * A network namespace in which every address is this machine's own: a server on 0.0.0.0 and [::] sees each connection
 * that anybody makes, to whatever address, and public addresses can be reached that are not on this machine.
 */
import { spawnSync } from 'node:child_process';
import net from 'node:net';
import { fileURLToPath } from 'node:url';

/* Who is not root needs a user namespace, in which it may do this, and then loses what it was given for it. */
const SET_UP = `PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo \
&& echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start && exec`;
const COMMAND = process.getuid() === 0
	? ['unshare', '--net', 'sh', '-c', `${SET_UP} "$@"`, 'sh']
	: ['unshare', '--user', '--map-current-user', '--keep-caps', '--net', 'sh', '-c', `${SET_UP} setpriv --ambient-caps=-all --inh-caps=-all "$@"`, 'sh'];
const MARK = 'PUSHGATE_OWN_NETWORK';

/*
 * Runs the program that calls it again, in such a namespace, and ends with it; inside it returns. Why there can be none
 * where there is none. To be called before anything else is done.
 */
export function enterOwnNetwork(url) {
	if (process.env[MARK])
		return false;
	const [command, ...args] = COMMAND;
	if (spawnSync(command, [...args, 'true'], { stdio: 'ignore' }).status !== 0)
		return 'no network namespace with IPv4 and IPv6 here';
	const { status } = spawnSync(command, [...args, process.execPath, ...process.execArgv, fileURLToPath(url)], {
		stdio: 'inherit', env: { ...process.env, [MARK]: '1' },
	});
	process.exit(status ?? 1);
}

/*
 * Listens on a port of every address: seen has the addresses that were connected to, in order. `welcome(socket, address)`
 * speaks to them.
 */
export async function catchAll(port, welcome) {
	const seen = [];
	const sockets = new Set();
	const servers = ['0.0.0.0', '::'].map((host) => {
		const server = net.createServer({ allowHalfOpen: true }, (socket) => {
			const address = socket.localAddress;
			seen.push(address);
			sockets.add(socket);
			socket.on('error', () => {});
			socket.on('close', () => sockets.delete(socket));
			welcome(socket, address);
		});
		return { host, server };
	});
	for (const { host, server } of servers)
		await new Promise((resolve, reject) => { server.once('error', reject).listen({ port, host, ipv6Only: true }, resolve); });
	const close = () => Promise.all(servers.map(({ server }) => new Promise((resolve) => {
		for (const socket of sockets)
			socket.destroy();
		server.close(resolve);
	})));
	return { seen, close };
}


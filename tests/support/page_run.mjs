/* SPDX-License-Identifier: MIT */
/*
 * Runs the blocks of a page as somebody would who pastes them one after the other, and gives one result for each block.
 *
 *   node tests/support/page_run.mjs FILE     a line of JSON for each result: {line, name, why}; why is missing when it is right
 *
 * What a page does before its first `##` is there in every section: each begins in a folder of its own, a copy of that one. At
 * the end of a section its programs are ended. Blocks name fixed ports, as people write them, so a page runs in a network
 * namespace of its own (page_alone.mjs); where there is none, PAGE_SHARED=1 says so.
 */
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BINARY, ROOT, patiently, sleep } from './gate.mjs';
import { checkFragment, isConfiguration } from './page_config.mjs';
import { missingLine, readPage } from './page_text.mjs';
import { SCALE } from './peer.mjs';

const PATIENCE = 60000 * SCALE;
const ENDS_WITHIN = 5000 * SCALE;

function listens(port) {
	return new Promise((resolve) => {
		const socket = net.connect(port, '127.0.0.1');
		socket.once('connect', () => { socket.destroy(); resolve(true); });
		socket.once('error', () => resolve(false));
	});
}

/* The folder of a README is the checkout. What the build made comes along, with its times: nothing is built again. */
function copyCheckout(folder) {
	const leave = new Set(['.git', 'build', 'tests/browser/node_modules', 'tests/fuzz/corpus']);
	fs.cpSync(ROOT, folder, { recursive: true, preserveTimestamps: true, filter: (from) => !leave.has(path.relative(ROOT, from)) });
	fs.mkdirSync(path.join(folder, 'build'));
	if (fs.existsSync(path.join(ROOT, 'build/release')))
		fs.cpSync(path.join(ROOT, 'build/release'), path.join(folder, 'build/release'), { recursive: true, preserveTimestamps: true });
	fs.copyFileSync(BINARY, path.join(folder, 'build/pushgate'));
	fs.chmodSync(path.join(folder, 'build/pushgate'), 0o755);
}

class PageRun {
	constructor(file, report) {
		this.file = file;
		this.report = report;
		this.page = readPage(fs.readFileSync(file, 'utf8'));
		this.isReadme = path.resolve(file) === path.join(ROOT, 'README.md');
		this.root = fs.mkdtempSync(path.join(os.tmpdir(), 'pushgate-page-'));
		/* Origins that root starts give up root, and must be able to read what lies here. */
		fs.chmodSync(this.root, 0o755);
		this.base = path.join(this.root, 'base');
		for (const name of ['bin', 'home'])
			fs.mkdirSync(path.join(this.root, name));
		fs.symlinkSync(BINARY, path.join(this.root, 'bin/pushgate'));
		this.env = {
			PATH: `${this.root}/bin:${process.env.PATH}:/usr/sbin`, HOME: path.join(this.root, 'home'), LANG: 'C.UTF-8', TERM: 'dumb',
		};
		this.programs = [];
	}

	/* Starts a block's commands; what they print goes to a file, as a program that stays may outlive its shell. */
	start(block) {
		const output = path.join(this.root, `output-${block.line}`);
		const fd = fs.openSync(output, 'w');
		const child = spawn('sh', ['-e', '-c', block.lines.join('\n')], {
			cwd: this.folder, env: this.env, stdio: ['ignore', fd, fd], detached: true,
		});
		fs.closeSync(fd);
		const program = { child, block, status: null, said: () => fs.readFileSync(output, 'utf8') };
		program.gone = new Promise((resolve) => {
			child.once('exit', (code, signal) => { program.status = signal ?? code; resolve(); });
		});
		this.programs.push(program);
		this.last = program;
		return program;
	}

	async command(block) {
		const program = this.start(block);
		await patiently(program.gone, PATIENCE);
		if (program.status === null)
			return `does not end within ${PATIENCE} ms\n${program.said()}`;
		return program.status === 0 ? '' : `exit status ${program.status}\n${program.said()}`;
	}

	async stays(block) {
		const ports = block.value.split(' ').map(Number);
		for (const port of ports) {
			if (await listens(port))
				return `port ${port} is taken before the program is started`;
		}
		const program = this.start(block);
		const end = Date.now() + PATIENCE;
		for (const port of ports) {
			while (!await listens(port)) {
				if (program.status)
					return `exit status ${program.status}\n${program.said()}`;
				if (Date.now() > end)
					return `nothing listens on port ${port} within ${PATIENCE} ms\n${program.said()}`;
				await sleep(20);
			}
		}
		return '';
	}

	/* A program that stays may print these lines a moment later. */
	async prints(block) {
		if (!this.last)
			return 'no block before has printed anything';
		const patience = this.last.block.kind === 'stays' ? 10000 * SCALE : 0;
		for (const end = Date.now() + patience; ;) {
			const missing = missingLine(block.lines, this.last.said());
			if (missing === null)
				return '';
			if (Date.now() >= end)
				return `line not printed, or not at this place: ${missing}\nprinted was:\n${this.last.said()}`;
			await sleep(50);
		}
	}

	save(block) {
		const name = path.join(this.folder, block.value);
		const content = `${block.lines.join('\n')}\n`;
		fs.mkdirSync(path.dirname(name), { recursive: true });
		fs.writeFileSync(name, content, { mode: content.startsWith('#!') ? 0o755 : 0o644 });
		if (block.language !== 'ini' || !isConfiguration(content))
			return '';
		const r = spawnSync('pushgate', ['check', '--strict', '-c', block.value], { cwd: this.folder, env: this.env, encoding: 'utf8' });
		return r.status === 0 ? '' : `pushgate check says\n${r.stdout}${r.stderr}`;
	}

	block(block) {
		if (block.kind === 'not run')
			return '';
		if (block.kind === 'file')
			return this.save(block);
		if (block.kind === 'stays')
			return this.stays(block);
		if (block.kind === 'prints')
			return this.prints(block);
		if (block.language === 'sh')
			return this.command(block);
		return checkFragment(block.lines.join('\n'), this.root);
	}

	/* The first line says which block it is; a block that nothing is done with has no result. */
	async section(section) {
		const live = section.blocks.filter((b) => b.kind || b.language === 'sh' || b.language === 'ini');
		let broken = 0;
		for (const b of live) {
			const name = [b.kind && `${b.kind}${b.value && `: ${b.value}`}`, b.kind !== 'file' && b.lines[0]].filter(Boolean).join(' | ');
			const skipped = b.kind === 'not run' ? b.value : undefined;
			const why = broken && !skipped ? `not run, as the block of line ${broken} failed` : await this.block(b);
			this.report({ line: b.line, name, why: why || undefined, skipped });
			if (why && !broken)
				broken = b.line;
		}
		for (const { status, block, said } of this.programs) {
			if (block.kind === 'stays' && status && !broken)
				this.report({ line: block.line, name: 'stays to the end of the section', why: `exit status ${status}\n${said()}` });
		}
		await this.end();
	}

	/*
	 * The living processes of the programs' sessions: a shell may be gone before what it started, and `timeout` and others make
	 * groups of their own. A zombie has threads while it still has its sockets; without, it waits for init alone.
	 */
	left() {
		const sessions = new Set(this.programs.map((p) => String(p.child.pid)));
		return fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((name) => {
			try {
				const fields = fs.readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1).split(' ');
				const [state, session, threads] = [fields[0], fields[3], Number(fields[17])];
				return sessions.has(session) && (state !== 'Z' || threads > 1);
			} catch {
				return false; /* gone meanwhile */
			}
		}).map(Number);
	}

	/* Until nothing is left, not even a socket: the next section needs the ports. */
	async end() {
		for (const signal of ['SIGTERM', 'SIGKILL']) {
			for (const pid of this.left()) {
				try {
					process.kill(pid, signal);
				} catch {
					/* gone meanwhile */
				}
			}
			for (const end = Date.now() + ENDS_WITHIN; this.left().length && Date.now() < end;)
				await sleep(10);
		}
		await Promise.all(this.programs.map((p) => p.gone));
		this.programs = [];
		this.last = null;
	}

	async run() {
		for (const { line, fault } of this.page.faults)
			this.report({ line, name: 'marks', why: fault });
		if (this.isReadme)
			copyCheckout(this.base);
		else
			fs.mkdirSync(this.base);
		this.folder = this.base;
		try {
			for (const [i, section] of this.page.sections.entries()) {
				if (i > 0 && !this.isReadme) {
					this.folder = path.join(this.root, `section-${i}`);
					fs.cpSync(this.base, this.folder, { recursive: true });
				}
				await this.section(section);
			}
		} finally {
			await this.end();
			fs.rmSync(this.root, { recursive: true, force: true });
		}
	}
}

if (process.argv[1] === fileURLToPath(import.meta.url))
	await new PageRun(process.argv[2], (result) => process.stdout.write(`${JSON.stringify(result)}\n`)).run();

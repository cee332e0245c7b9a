/* SPDX-License-Identifier: MIT */
/*
 * Shows page after page on the terminal's other screen: each is written at once, over the one before, so that nothing
 * flickers. However it ends, the terminal is as it was before: the signals that end or stop a program are read from a
 * descriptor.
 */
#include "proxy/top/top_private.h"

#include "proxy/base/clock.h"
#include "proxy/base/descriptor.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* Escape sequences (ECMA-48, and xterm's for the other screen). */
#define OTHER_SCREEN "\x1b[?1049h\x1b[?25l"
#define FIRST_SCREEN "\x1b[?25h\x1b[?1049l"
#define HOME "\x1b[H"
#define END_OF_LINE "\x1b[K\r\n"
#define CLEAR_BELOW "\x1b[J"

struct terminal {
	const char *socket_path;
	struct termios before; /* to be set again */
	sigset_t signals, signals_before;
	int signal_fd;
	struct top_samples last, now;
	usec last_at, now_at, next;
	bool is_over;
};

static void write_all(const char *text, size_t length)
{
	while (length > 0) {
		ssize_t n = write(STDOUT_FILENO, text, length);
		if (n <= 0)
			return;
		text += n;
		length -= (size_t)n;
	}
}

static void write_text(const char *text)
{
	write_all(text, strlen(text));
}

/* Keys come one by one and are not shown; those that make signals still do. */
static void enter(struct terminal *t)
{
	struct termios keys = t->before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
	write_text(OTHER_SCREEN);
}

static void leave(const struct terminal *t)
{
	write_text(FIRST_SCREEN);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &t->before);
}

static void draw(const struct terminal *t, const char *notice)
{
	static const struct top_samples none = {0};
	bool is_first = t->last.count == 0;
	struct winsize size = {0};
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		return;
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	const struct top_view view = {
	    .before = is_first ? &none : &t->last,
	    .now = &t->now,
	    .seconds = is_first ? top_up(&t->now) : (double)(t->now_at - t->last_at) / USEC_PER_SEC,
	    .is_since_start = is_first,
	    .notice = notice,
	};
	fputs(HOME, out);
	/* The last column stays free: a terminal that has just written there would erase it with END_OF_LINE. The last
	 * row is for the cursor. */
	size_t columns = size.ws_col > 1 ? size.ws_col - 1u : 0;
	size_t left_out =
	    top_page(&view, columns, size.ws_row > 1 ? size.ws_row - 1u : 0, END_OF_LINE, out);
	fputs("q leaves", out);
	if (left_out > 0)
		fprintf(out, "; %zu lines have no room", left_out);
	fputs(CLEAR_BELOW, out);
	fclose(out);
	write_all(text, length);
	free(text);
}

/* A pushgate that is just started again has no answer; its next one counts from 0. */
static void ask_and_draw(struct terminal *t)
{
	struct top_samples fresh;
	const char *error;
	if (!top_ask(t->socket_path, &fresh, &error)) {
		draw(t, error);
		return;
	}
	top_samples_free(&t->last);
	t->last = t->now;
	t->last_at = t->now_at;
	t->now = fresh;
	t->now_at = clock_monotonic();
	draw(t, NULL);
}

/* ^Z: the shell gets its terminal as it was, and this program goes on with fg. */
static void stop(struct terminal *t)
{
	leave(t);
	kill(getpid(), SIGSTOP);
	enter(t);
}

static void read_signal(struct terminal *t)
{
	struct signalfd_siginfo info;
	if (read(t->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGTSTP)
		stop(t);
	else if (info.ssi_signo != SIGWINCH)
		t->is_over = true;
	if (!t->is_over)
		draw(t, NULL);
}

static void read_keys(struct terminal *t)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
	t->is_over = n <= 0; /* the terminal is gone */
	for (ssize_t i = 0; i < n; i++)
		t->is_over |= keys[i] == 'q' || keys[i] == 'Q';
}

static void wait_and_act(struct terminal *t)
{
	struct pollfd fds[] = {
	    {.fd = STDIN_FILENO, .events = POLLIN}, {.fd = t->signal_fd, .events = POLLIN}};
	usec now = clock_monotonic();
	if (now >= t->next) {
		ask_and_draw(t);
		now = clock_monotonic();
		t->next = now + USEC_PER_SEC;
	}
	if (poll(fds, 2, (int)((t->next - now) / USEC_PER_MSEC) + 1) <= 0)
		return;
	if (fds[1].revents)
		read_signal(t);
	if (fds[0].revents && !t->is_over)
		read_keys(t);
}

static bool catch_signals(struct terminal *t)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
	sigemptyset(&t->signals);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaddset(&t->signals, caught[i]);
	sigprocmask(SIG_BLOCK, &t->signals, &t->signals_before);
	t->signal_fd = signalfd(-1, &t->signals, SFD_CLOEXEC);
	return t->signal_fd >= 0;
}

int top_show(const char *socket_path)
{
	struct terminal t = {.socket_path = socket_path, .signal_fd = -1};
	const char *error;
	if (!top_ask(socket_path, &t.now, &error)) {
		fprintf(stderr, "pushgate top: %s: %s\n", socket_path, error);
		return 1;
	}
	if (tcgetattr(STDIN_FILENO, &t.before) != 0 || !catch_signals(&t)) {
		perror("pushgate top");
		top_samples_free(&t.now);
		return 1;
	}
	t.now_at = clock_monotonic();
	t.next = t.now_at + USEC_PER_SEC;
	enter(&t);
	draw(&t, NULL);
	while (!t.is_over)
		wait_and_act(&t);
	leave(&t);
	descriptor_close(&t.signal_fd);
	sigprocmask(SIG_SETMASK, &t.signals_before, NULL);
	top_samples_free(&t.last);
	top_samples_free(&t.now);
	return 0;
}

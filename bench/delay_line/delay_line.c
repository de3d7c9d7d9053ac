/*
 * Carries IP packets between network namespaces, each a given time after it came. The kernel's netem,
 * which does so too, is not to be had everywhere.
 *
 *     delay_line NAMESPACE=ADDRESS ...
 *
 * makes a TUN device "wire" in each namespace (a file that setns takes) and passes packets on by
 * their destination's address. Packets are not looked into any further, so TCP goes from end to
 * end: a handshake takes its round trip, an acknowledgement its way back, which a proxy that ends
 * the connections would both swallow. Packets come and go unsegmented, with the
 * kernel's own note of what is left to do for them, as between virtual machines.
 *
 * It reads commands from its input: "delay NANOSECONDS" is answered by "ok", "report" by a line
 * of JSON about the packets since the last report. When the input ends, so does this, and
 * with it go the devices: whoever started it need not live to clean up.
 *
 * One thread, one queue: all packets wait equally long, so they leave in the order they came. It
 * asks for real-time priority, since a packet on a wire does not wait for a processor.
 *
 * Most of its work is to wake up. So it does as network adapters do that moderate their interrupts:
 * while packets come close together it looks for them once in a QUANTUM and takes them to have
 * come in the middle of it, and lets go of what is due by half a quantum more. That makes the
 * single packet's delay uncertain by a quantum, and leaves its mean as it is. And since a
 * sleeping core takes its time to wake, it asks to be woken as much earlier as it lately was late.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum
{
	MOST_HOSTS = 16,
	/* A packet with the header that tells how it is to be segmented. */
	LARGEST_PACKET = 65536 + sizeof(struct virtio_net_hdr),
	/* The bytes that may wait; a full queue leaves packets to wait in the devices' own. */
	QUEUE_BYTES = 8 << 20,
	ALIGNMENT = 8,
	/* The most packets read from one device before the next is served. */
	AT_A_TIME = 64,
	/* Lateness is counted by powers of two of microseconds. */
	LATENESS_BUCKETS = 16,
	PRIORITY = 10,
};

static const uint64_t SECOND = 1000000000;
static const uint64_t QUANTUM = 30000;
static const uint64_t LONGEST_WAKE = 60000;

struct host
{
	in_addr_t address;
	int wire;
};

/* What waits: this, and the packet behind it, up to the next multiple of ALIGNMENT. */
struct waiting
{
	uint64_t due;
	uint32_t size;
	uint32_t target;
};

struct report
{
	uint64_t packets;
	uint64_t bytes;
	/* For an address that is no host's, or refused by its device. */
	uint64_t dropped;
	uint64_t late[LATENESS_BUCKETS];
	uint64_t latest;
};

static struct host hosts[MOST_HOSTS];
static unsigned host_count;
static struct report since;
static uint64_t delay;

/* A ring of records, none of which goes round its end. Both are offsets; equal: it is empty. */
static unsigned char *queue;
static size_t first, next;
/* Where the last record before the queue's end ends, while `next` has gone round. */
static size_t round_at;

/* Ends the program with a message, and the system's where there is an error number. */
static void
die(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("delay_line: ", stderr);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	if (error)
		fprintf(stderr, ": %s", strerror(error));
	fputc('\n', stderr);
	exit(1);
}

static uint64_t
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t) time.tv_sec * SECOND + (uint64_t) time.tv_nsec;
}

/* Makes the device in the namespace that this process is in at the moment. */
static int
make_wire(void)
{
	struct ifreq device = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
	int wire = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (wire < 0)
		die(errno, "/dev/net/tun cannot be opened");
	strcpy(device.ifr_name, "wire");
	if (ioctl(wire, TUNSETIFF, &device) < 0)
		die(errno, "no device can be made");
	if (ioctl(wire, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) < 0)
		die(errno, "the device's offloads cannot be set");
	return wire;
}

static void
add_host(const char *argument, int home)
{
	const char *equals = strrchr(argument, '=');
	char path[256];
	int namespace;

	if (host_count == MOST_HOSTS || !equals || equals - argument >= (ptrdiff_t) sizeof(path))
		die(0, "not one of at most %d NAMESPACE=ADDRESS: %s", MOST_HOSTS, argument);
	memcpy(path, argument, (size_t) (equals - argument));
	path[equals - argument] = '\0';
	if (inet_pton(AF_INET, equals + 1, &hosts[host_count].address) != 1)
		die(0, "not an IPv4 address: %s", equals + 1);
	namespace = open(path, O_RDONLY | O_CLOEXEC);
	if (namespace < 0 || setns(namespace, CLONE_NEWNET) < 0)
		die(errno, "%s cannot be entered", path);
	hosts[host_count++].wire = make_wire();
	if (setns(home, CLONE_NEWNET) < 0)
		die(errno, "there is no way back from %s", path);
	close(namespace);
}

static size_t
record_bytes(size_t packet)
{
	return (sizeof(struct waiting) + packet + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
}

/* Where the next record may be written, or NULL where the queue is full. */
static struct waiting *
room(void)
{
	/* What is over stays free, since equal offsets mean that nothing waits. */
	size_t need = record_bytes(LARGEST_PACKET) + ALIGNMENT;

	if (first == next)
		first = next = 0;
	if (next >= first)
	{
		if (QUEUE_BYTES - next >= need)
			return (struct waiting *) (queue + next);
		if (first < need)
			return NULL;
		round_at = next;
		next = 0;
	}
	return first - next >= need ? (struct waiting *) (queue + next) : NULL;
}

static struct waiting *
first_waiting(void)
{
	if (first > next && first == round_at)
		first = 0;
	return first == next ? NULL : (struct waiting *) (queue + first);
}

static int
find_target(const unsigned char *packet, size_t size)
{
	struct iphdr header;

	if (size < sizeof(struct virtio_net_hdr) + sizeof(header))
		return -1;
	memcpy(&header, packet + sizeof(struct virtio_net_hdr), sizeof(header));
	if (header.version != 4)
		return -1;
	for (unsigned i = 0; i < host_count; i++)
		if (hosts[i].address == header.daddr)
			return (int) i;
	return -1;
}

/* Takes what has come from a host, as long as there is room; whether there was anything. */
static bool
receive(const struct host *host, uint64_t came)
{
	for (int i = 0; i < AT_A_TIME; i++)
	{
		struct waiting *record = room();
		unsigned char *packet;
		ssize_t size;
		int target;

		if (!record)
			return true;
		packet = (unsigned char *) (record + 1);
		size = read(host->wire, packet, LARGEST_PACKET);
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return i > 0;
		if (size < 0)
			die(errno, "a packet cannot be read");
		target = find_target(packet, (size_t) size);
		if (target < 0)
		{
			since.dropped++;
			continue;
		}
		record->due = came + delay;
		record->size = (uint32_t) size;
		record->target = (uint32_t) target;
		next += record_bytes(record->size);
	}
	return true;
}

static void
note(const struct waiting *record, uint64_t left)
{
	uint64_t late = left > record->due ? left - record->due : 0;
	uint64_t microseconds = late / 1000;
	int bucket = microseconds ? 64 - __builtin_clzll(microseconds) : 0;

	since.packets++;
	since.bytes += record->size - sizeof(struct virtio_net_hdr);
	since.late[bucket < LATENESS_BUCKETS ? bucket : LATENESS_BUCKETS - 1]++;
	if (late > since.latest)
		since.latest = late;
}

/* Passes on what is due, or will be so soon; returns how long until the next is, or UINT64_MAX. */
static uint64_t
send_due(uint64_t soon)
{
	uint64_t time = now();
	struct waiting *record;

	while ((record = first_waiting()))
	{
		if (record->due > time + soon && record->due > (time = now()) + soon)
			return record->due - time;
		if (write(hosts[record->target].wire, record + 1, record->size) < 0)
			since.dropped++;
		else
			note(record, time);
		first += record_bytes(record->size);
	}
	return UINT64_MAX;
}

static void
print_report(void)
{
	printf("{\"packets\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"dropped\": %" PRIu64, since.packets,
		   since.bytes, since.dropped);
	fputs(", \"late_by_less_than_us\": {", stdout);
	for (int i = 0; i < LATENESS_BUCKETS - 1; i++)
		printf("\"%d\": %" PRIu64 ", ", 1 << i, since.late[i]);
	printf("\"more\": %" PRIu64 "}, \"latest_us\": %.1f}\n", since.late[LATENESS_BUCKETS - 1],
		   (double) since.latest / 1000);
	memset(&since, 0, sizeof(since));
}

/* Obeys one line of the input; false when it has ended. */
static bool
obey(void)
{
	char line[64];
	uint64_t wanted;

	if (!fgets(line, sizeof(line), stdin))
		return false;
	if (sscanf(line, "delay %" SCNu64, &wanted) == 1 && wanted <= SECOND)
	{
		delay = wanted;
		puts("ok");
	}
	else if (strcmp(line, "report\n") == 0)
		print_report();
	else
		die(0, "no such command: %s", line);
	fflush(stdout);
	return true;
}

static void
sleep_until(uint64_t time)
{
	struct timespec end = {.tv_sec = (time_t) (time / SECOND), .tv_nsec = (long) (time % SECOND)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
		;
}

/* Waits for a packet, a command, or so long; returns the time then. */
static uint64_t
await(struct pollfd *polled, uint64_t wait)
{
	/* By how much it was woken too late of late. */
	static uint64_t wake;
	uint64_t asked = wait > wake ? wait - wake : 0;
	struct timespec timeout = {.tv_sec = (time_t) (asked / SECOND), .tv_nsec = (long) (asked % SECOND)};
	uint64_t began = now(), ended;
	int ready = ppoll(polled, host_count + 1, wait == UINT64_MAX ? NULL : &timeout, NULL);

	if (ready < 0 && errno != EINTR)
		die(errno, "waiting for packets failed");
	ended = now();
	if (ready == 0 && asked > 0)
	{
		uint64_t late = ended - began > asked ? ended - began - asked : 0;

		wake += ((late < LONGEST_WAKE ? late : LONGEST_WAKE) >> 4) - (wake >> 4);
	}
	return ended;
}

static void
carry(void)
{
	struct pollfd polled[MOST_HOSTS + 1];
	/* When it looked for packets, and when it last found some. */
	uint64_t looked = 0, found = 0;
	/* Whether they come so close together that it need not be told of each. */
	bool dense = false;

	for (unsigned i = 0; i < host_count; i++)
		polled[i] = (struct pollfd) {.fd = hosts[i].wire, .events = POLLIN};
	polled[host_count] = (struct pollfd) {.fd = STDIN_FILENO, .events = POLLIN};
	for (;;)
	{
		uint64_t wait = send_due(QUANTUM / 2);
		bool any = false;
		uint64_t time, came;

		if (dense)
		{
			sleep_until(looked + QUANTUM);
			wait = 0;
		}
		time = await(polled, wait);
		came = dense ? looked + (time - looked) / 2 : time;
		for (unsigned i = 0; i < host_count; i++)
			if (polled[i].revents && receive(&hosts[i], came))
				any = true;
		if (polled[host_count].revents && !obey())
			return;
		looked = time;
		dense = any && delay > 0 && time - found < 2 * QUANTUM;
		if (any)
			found = time;
	}
}

int
main(int count, char **arguments)
{
	struct sched_param priority = {.sched_priority = PRIORITY};
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (home < 0)
		die(errno, "this process has no network namespace");
	for (int i = 1; i < count; i++)
		add_host(arguments[i], home);
	if (host_count < 2)
		die(0, "at least two hosts are needed");
	queue = malloc(QUEUE_BYTES);
	if (!queue)
		die(errno, "no memory for the queue");
	/* A command is a line, of which stdio must not take the next as well. */
	setvbuf(stdin, NULL, _IONBF, 0);
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (sched_setscheduler(0, SCHED_FIFO, &priority) < 0 || mlockall(MCL_CURRENT) < 0)
		die(errno, "no real-time priority");
	puts("ready");
	fflush(stdout);
	carry();
	return 0;
}

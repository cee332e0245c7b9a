/* SPDX-License-Identifier: MIT */
/*
 * Every hard bound in one place, each with its reason. What an operator may tune is in the
 * configuration (proxy/conf/options.c) and has its default there; what stands here may not be
 * exceeded whatever the configuration says.
 */
#ifndef PUSHGATE_LIMITS_H
#define PUSHGATE_LIMITS_H

#define PUSHGATE_VERSION "0.1.0"

/* Read, lent and passed on in units of one TLS record's plaintext (RFC 8446 5.1). */
#define LIMIT_CHUNK_BYTES 16384u

/* A DATA piece below this is copied, so that a tiny frame never pins a whole chunk. */
#define LIMIT_COPY_BELOW_BYTES 2048u

/* A PROXY header in version 2: its addresses and some values, of which a certificate may be one. */
#define LIMIT_PROXY_HEADER_BYTES 4096u

/* At most this much is read from one connection in one loop pass: nobody starves the others. */
#define LIMIT_READ_PER_PASS_BYTES 65536u

/* The work that a head makes beside that for its fields, as so many bytes of them: how soon a loop pass looks at the clock. */
#define LIMIT_HEAD_WORK_BYTES 1024u

/* A field block on the wire, HEADERS or PUSH_PROMISE with its CONTINUATIONs (RFC 9113 10.5.1). */
#define LIMIT_FIELD_BLOCK_BYTES 262144u

/* Fields in one head. Each costs 40 bytes of ours whatever its length on the wire. */
#define LIMIT_FIELDS_PER_HEAD 1000u
/* The value of a field that a route writes with placeholders; a longer one is not sent. A path can be as long. */
#define LIMIT_WRITTEN_VALUE_BYTES 16384u
/* Relative references of one response that are resolved where its path was rewritten: those that climb. */
#define LIMIT_REFERENCES_RESOLVED 64u

/* CONTINUATION frames in one block: 256 KiB in frames of the smallest sensible size. */
#define LIMIT_CONTINUATIONS 64u

/* An X-Request-Id of another program's: as long as two UUIDs, or an id of a trace with more. */
#define LIMIT_REQUEST_ID_BYTES 64u

/* Interim (1xx) responses in one exchange (RFC 9110 15.2 sets none); counted in a byte. */
#define LIMIT_INTERIM_RESPONSES 200u

/* Promises kept unanswered on one origin connection. Each holds a stream of ours. */
#define LIMIT_RESERVED_STREAMS 1000000u

/* Hosts beside their own that the origins of one connection may promise for in forward mode: its certificate, which
 * may have thousands of names, is looked through for each. */
#define LIMIT_PROMISED_HOSTS 16u

/* Streams we have reset and remember (RFC 9113 5.1): beyond the PING that shows that the peer has
 * seen it, as long as there is room. */
#define LIMIT_REMEMBERED_RESETS 256u

/* The bytes that the patterns of access rules, routes and pushes may search for one request and its
 * resources: in each loop pass so many, which takes a millisecond or two, whatever the request holds and however many
 * patterns there are. */
#define LIMIT_EFFORT_OF_REQUEST 1048576u
/* Of a User-Agent, what rules look at: longer ones are not of browsers. */
#define LIMIT_USER_AGENT_BYTES 2048u
/* A field that is copied from a request into those for its resources: a page may have a hundred of them. */
#define LIMIT_COPIED_FIELD_BYTES 4096u

/* A URI reference in a Link field or a manifest; longer ones name nothing worth pushing. */
#define LIMIT_REFERENCE_BYTES 4096u
/* Of a page or a stylesheet so much is read to find what a browser needs: nearly every head ends before. */
#define LIMIT_MARKUP_BYTES 65536u
/* The values of one tag together; a tag with more names nothing. A reference may be as long. */
#define LIMIT_MARKUP_TAG_BYTES 4096u
/* Resources of one page or stylesheet: no more can be hinted to one request. */
#define LIMIT_MARKUP_RESOURCES 100u
/* Encoded bytes of a page that are decoded: a stream may have any number that decode to nothing. */
#define LIMIT_DECODE_INPUT_BYTES 262144u
/* The memory of one decoder: a window of 8 MiB is the largest that a client must accept (RFC 9659 3). */
#define LIMIT_DECODE_MEMORY_BYTES (9u << 20)
/* Resources hinted to one request, by the origin's 103 responses and by pushgate's: each is remembered,
 * so that none is hinted twice. Those of the origin beyond it pass and are not remembered. */
#define LIMIT_HINTS_PER_REQUEST 100u
/* Links looked at in one response; the rest is ignored. */
#define LIMIT_LINKS_PER_RESPONSE 100u
/* Lessons that a worker has open at a time: each has what a page names. More are not taught. */
#define LIMIT_LESSONS 64u

/* Traces by `pushgate trace` at a time: each frame is a line for each of them. */
#define LIMIT_TRACES 4u
/* The longest one: one that is forgotten must not go on for ever. */
#define LIMIT_TRACE_SECONDS 3600u

/* Answers of admin listeners that a worker makes at a time while they are sent: each pass asks all that go on. */
#define LIMIT_ADMIN_OUTPUTS 64u
/* Those of them that have no end of their own: who opens event streams and leaves them open keeps no monitoring away. */
#define LIMIT_ADMIN_ENDLESS_OUTPUTS 48u
/* What the producer of one may keep: a copy of one worker's list of connections is the most, with 51 KiB. Each answer is
 * charged with it. */
#define LIMIT_ADMIN_CONTEXT_BYTES 65536u

/* What demo:?think= and ?rtt= may delay an answer by: a demonstration is no stopped origin. */
#define LIMIT_DEMO_DELAY_USEC 60000000u

/* One server's weight: the schedule of a balance is made of weights, and grows with them. */
#define LIMIT_SERVER_WEIGHT 256u
/* Certificates of a folder. Each takes some 10 KiB in each worker, and a handshake compares its name with all of theirs. */
#define LIMIT_CERTIFICATES 1000u
/* Sessions to resume that a TLS client keeps, some KiB each; of one server as many as a small burst of connections
 * takes. */
#define LIMIT_SESSIONS 64u
#define LIMIT_SESSIONS_OF_SERVER 8u
/* Servers of one destination, whichever way they came: a name with more addresses has the first of them. */
#define LIMIT_SERVERS 1024u

/* Lines upstream-proxy of one [origin]. */
#define LIMIT_UPSTREAM_PROXIES 64u

/* Addresses of one host name, or of all targets of one SRV name. The rest is left out, the highest addresses first. */
#define LIMIT_NAME_ADDRESSES 64u
#define LIMIT_SRV_ADDRESSES 256u
/* Targets of one SRV name (RFC 2782): those of the lowest priority come first. */
#define LIMIT_SRV_TARGETS 32u
/* Names in a chain of CNAME (RFC 1034 3.6.2): a longer one is a loop. */
#define LIMIT_CNAME_CHAIN 16u
/* Records looked at in one answer of a resolver. */
#define LIMIT_DNS_RECORDS 256u
/* Questions to resolvers at a time; others wait. Each has a socket. */
#define LIMIT_DNS_QUERIES 64u
/* Of these, for names that one client's requests have named (forward mode): so many that no resolver answers leave
 * room for the names of others. */
#define LIMIT_DNS_QUERIES_OF_ONE 16u
/* Datagrams that are no answer to the question: the resolver is then asked over TCP, which nobody can forge blindly. */
#define LIMIT_DNS_STRANGERS 16u
/* Resolvers of option resolver, or of resolv.conf; further ones are left out. */
#define LIMIT_RESOLVERS 8u
/* The hosts file and resolv.conf: a worker parses either in one loop pass. Lines behind it are left out. */
#define LIMIT_NAMES_FILE_BYTES 65536u
/* Checks of servers that a worker makes at a time (health-check): connections beside those of requests. */
#define LIMIT_HEALTH_CHECKS 64u
/* Lines of limit-requests in one route: each request is counted in all of them. */
#define LIMIT_REQUEST_LIMITS 16u
/* The burst of such a line, and the requests that it allows in its time. */
#define LIMIT_REQUEST_RATE 1000000u

/* Of a user's name, and of a password: longer ones are wrong. The password process reads no more. */
#define LIMIT_USER_BYTES 255u
/* Different credentials that wait in a worker to be checked, and those of them that are on the way to the password
 * process: one that it hashes, and the next. */
#define LIMIT_PASSWORDS_WAITING 256u
#define LIMIT_PASSWORDS_ASKED 2u

/* Series of histograms (max-series): each is 17 lines of what monitoring reads, so that ten thousand are ten megabytes. */
#define LIMIT_SERIES 4096u

/* Lines client-ca of one [listen NAME]: each handshake and each request looks through them. */
#define LIMIT_CLIENT_CAS 1000u

/* Lines allow, deny and ask of one [access NAME]: each request is held against them one after another. */
#define LIMIT_ACCESS_RULES 1000u

/* Lines and bytes of a host-file or path-file of a route or rule, which is read at the start. */
#define LIMIT_LIST_LINES 100000u
#define LIMIT_LIST_BYTES (8u << 20)

/* Page records of each worker: 103 MiB of shared memory for it. */
#define LIMIT_PAGE_RECORDS 4096u

/* The file of an error status or a fixed answer: kept in memory, and sent with each such answer. */
#define LIMIT_ERROR_BODY_BYTES 65536u

/* The folder of a route with files: they are kept in memory, and a request's file is copied for its response. */
#define LIMIT_FOLDER_FILES 256u
#define LIMIT_FOLDER_FILE_BYTES (256u << 10)
#define LIMIT_FOLDER_BYTES (4u << 20)
#define LIMIT_FOLDER_DEPTH 16u
/* Of a path below the folder: a longer one of a request has no file. */
#define LIMIT_FOLDER_NAME_BYTES 1024u

/* Generations of workers that serve at a time (max-generations). Each has its processes, and one more that comes up has
 * a lane in the tables of limits too, which have a bit of 32 for each (admission/limit_table.h). */
#define LIMIT_GENERATIONS 30u

/* inih cuts section and key names at 49 characters; longer ones are refused, not cut. */
#define LIMIT_CONF_NAME_BYTES 48u
#define LIMIT_CONF_LINE_BYTES 16384u
#define LIMIT_CONF_INCLUDE_DEPTH 8u

#endif

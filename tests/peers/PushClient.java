/* SPDX-License-Identifier: MIT */
/*
 * A client made of java.net.http.HttpClient that takes pushes. Runs from its source:
 *
 *   java PushClient.java CA poll URL N           N requests of URL, one after another
 *   java PushClient.java CA poll-half URL N      the same, but every second promise is refused
 *   java PushClient.java CA poll-one-map URL N   the same with the library's handler, and one map for all pushes
 *   java PushClient.java CA subscribe URL N      one request that need not be answered, until N pushes have arrived;
 *                                                after each 50 of them it asks for /taken/COUNT
 *
 * CA: the certificates to be trusted, as PEM. Prints a line for each promise in their order ("promise PATH"), each
 * push when it is complete ("push PATH STATUS BODY", or "cancelled PATH"), each response of a request
 * ("page STATUS BODY"), and at the end "done". The client completes pushes on several threads, so their lines may
 * stand in another order than their promises.
 *
 * HttpClient counts a push until its threads have handed it over, though the server ended it long ago. It refuses
 * a promise beyond 100 of these, and then each later one: a server must not send more before they were taken.
 */
import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class PushClient {
	private static synchronized void say(String line) {
		System.out.println(line);
		System.out.flush();
	}

	private static SSLContext trusting(String file) throws Exception {
		KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
		store.load(null);
		try (FileInputStream in = new FileInputStream(file)) {
			int n = 0;
			for (var certificate : CertificateFactory.getInstance("X.509").generateCertificates(in))
				store.setCertificateEntry("ca" + n++, certificate);
		}
		TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
		managers.init(store);
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(null, managers.getTrustManagers(), null);
		return context;
	}

	private static HttpRequest get(String url) {
		return HttpRequest.newBuilder(URI.create(url)).build();
	}

	private static void sayPush(HttpRequest request, HttpResponse<String> response, Throwable failure) {
		String path = request.uri().getPath();
		say(failure == null ? "push " + path + " " + response.statusCode() + " " + response.body() : "cancelled " + path);
	}

	private static void poll(HttpClient client, String url, int count, int refused) throws Exception {
		for (int i = 0; i < count; i++) {
			Queue<CompletableFuture<Void>> pushes = new ConcurrentLinkedQueue<>();
			boolean accepts = i % 2 != refused;
			HttpResponse.PushPromiseHandler<String> handler = (parent, promised, acceptor) -> {
				say("promise " + promised.uri().getPath());
				if (!accepts)
					return;
				pushes.add(acceptor.apply(BodyHandlers.ofString()).handle((response, failure) -> {
					sayPush(promised, response, failure);
					return null;
				}));
			};
			HttpResponse<String> page = client.sendAsync(get(url), BodyHandlers.ofString(), handler).get();
			say("page " + page.statusCode() + " " + page.body());
			CompletableFuture.allOf(pushes.toArray(new CompletableFuture<?>[0])).get();
		}
	}

	/* A push replaces the one before that has an equal request. */
	private static void pollOneMap(HttpClient client, String url, int count) throws Exception {
		var pushes = new ConcurrentHashMap<HttpRequest, CompletableFuture<HttpResponse<String>>>();
		var handler = HttpResponse.PushPromiseHandler.of(request -> BodyHandlers.ofString(), pushes);
		for (int i = 0; i < count; i++) {
			HttpResponse<String> page = client.sendAsync(get(url), BodyHandlers.ofString(), handler).get();
			say("page " + page.statusCode() + " " + page.body());
			CompletableFuture.allOf(pushes.values().toArray(new CompletableFuture<?>[0])).get();
		}
		pushes.forEach((request, response) -> sayPush(request, response.join(), null));
	}

	private static void subscribe(HttpClient client, String url, int count) throws Exception {
		CountDownLatch missing = new CountDownLatch(count);
		AtomicInteger taken = new AtomicInteger();
		HttpResponse.PushPromiseHandler<String> handler = (parent, promised, acceptor) -> {
			say("promise " + promised.uri().getPath());
			acceptor.apply(BodyHandlers.ofString()).whenComplete((response, failure) -> {
				sayPush(promised, response, failure);
				if (failure != null)
					return;
				int n = taken.incrementAndGet();
				if (n % 50 == 0)
					client.sendAsync(get(parent.uri().resolve("/taken/" + n).toString()), BodyHandlers.discarding());
				missing.countDown();
			});
		};
		client.sendAsync(get(url), BodyHandlers.ofString(), handler).whenComplete((page, failure) ->
			say(failure == null ? "page " + page.statusCode() + " " + page.body() : "failed " + failure));
		missing.await();
	}

	public static void main(String[] args) throws Exception {
		HttpClient client = HttpClient.newBuilder().sslContext(trusting(args[0])).version(HttpClient.Version.HTTP_2).build();
		int count = Integer.parseInt(args[3]);
		switch (args[1]) {
		case "poll" -> poll(client, args[2], count, 2);
		case "poll-half" -> poll(client, args[2], count, 1);
		case "poll-one-map" -> pollOneMap(client, args[2], count);
		case "subscribe" -> subscribe(client, args[2], count);
		default -> throw new IllegalArgumentException(args[1]);
		}
		say("done");
		System.exit(0); /* the client has threads, and a subscription that goes on */
	}
}

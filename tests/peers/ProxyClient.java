/* SPDX-License-Identifier: MIT */
/*
 * java.net.http.HttpClient by a proxy. Runs from its source:
 *
 *   java ProxyClient.java CA PORT USER PASSWORD URL...     the proxy is on PORT of localhost; USER "-": no authenticator
 *
 * CA: the certificates to be trusted, as PEM. For each URL, in turn, a line: STATUS VERSION BYTES and short bodies.
 */
import java.io.FileInputStream;
import java.net.Authenticator;
import java.net.InetSocketAddress;
import java.net.PasswordAuthentication;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class ProxyClient {
	private static final int SHORT = 100;

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

	public static void main(String[] args) throws Exception {
		var builder = HttpClient.newBuilder().sslContext(trusting(args[0])).version(HttpClient.Version.HTTP_2)
			.proxy(ProxySelector.of(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[1]))));
		if (!args[2].equals("-"))
			builder.authenticator(new Authenticator() {
				@Override
				protected PasswordAuthentication getPasswordAuthentication() {
					return getRequestorType() == RequestorType.PROXY ? new PasswordAuthentication(args[2], args[3].toCharArray()) : null;
				}
			});
		HttpClient client = builder.build();
		for (int i = 4; i < args.length; i++) {
			HttpResponse<byte[]> response = client.send(HttpRequest.newBuilder(URI.create(args[i])).build(), BodyHandlers.ofByteArray());
			byte[] body = response.body();
			System.out.println(response.statusCode() + " " + response.version() + " " + body.length
				+ (body.length <= SHORT ? " " + new String(body, "UTF-8") : ""));
		}
		System.exit(0); /* the client has threads */
	}
}

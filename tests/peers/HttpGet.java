/* SPDX-License-Identifier: MIT */
/* Prints status and body of a URL, as Java's old HttpURLConnection gets them. */
import java.net.HttpURLConnection;
import java.net.URL;

public class HttpGet {
	public static void main(String[] arguments) throws Exception {
		HttpURLConnection connection = (HttpURLConnection) new URL(arguments[0]).openConnection();
		connection.setReadTimeout(60000);
		System.out.println(connection.getResponseCode() + " " + new String(connection.getInputStream().readAllBytes()));
	}
}

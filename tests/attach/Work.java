/* Work.java - three threads that allocate and compute, and one that makes the calls it is asked for. Status 7: each result was right. */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.util.HashMap;

public class Work {
	static volatile boolean ends, wrong;

	static long once() {
		HashMap<Integer, byte[]> map = new HashMap<>();
		long sum = 0;
		for (int i = 0; i < 2000; i++)
			map.put(i % 300, new byte[i]);
		for (byte[] b : map.values())
			sum += b.length;
		return sum;
	}

	public static void main(String[] a) throws Exception {
		final long first = once();
		Thread[] t = new Thread[3];
		for (int i = 0; i < t.length; i++) {
			t[i] = new Thread(() -> {
				while (!ends)
					if (once() != first)
						wrong = true;
			});
			t[i].start();
		}
		RandomAccessFile file = new RandomAccessFile("/dev/zero", "r");
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null; System.out.println("called"))
			for (int n = Integer.parseInt(line.split(" ")[1]); n > 0; n--)
				file.seek(n);
		ends = true;
		for (Thread x : t)
			x.join();
		System.exit(wrong ? 1 : 7);
	}
}

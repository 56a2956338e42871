// Java: Job KIND bad|good.
import java.util.HashMap;
import java.util.Map;

public class Job {
	static boolean bad;

	static String add(String s, int i) {
		return s + i % 10 + ",";
	}

	static int concat() { // a string that grows by copying
		String s = "";
		for (int i = 0; i < (bad ? 40000 : 100); i++)
			s = add(s, i);
		return s.length();
	}

	static int tally() { // boxes in an inner loop
		Map<Integer, Integer> m = new HashMap<>();
		for (int i = 0; i < (bad ? 20000000 : 1000); i++)
			m.merge(i % 1000, 1, Integer::sum); // CULPRIT tally
		return m.size();
	}

	static synchronized void held() { // a request under the lock of the class
		try {
			Thread.sleep(bad ? 100 : 1); // CULPRIT held
		} catch (InterruptedException e) {
			throw new RuntimeException(e);
		}
	}

	static int team() throws InterruptedException {
		Thread[] t = new Thread[6];
		for (int i = 0; i < t.length; i++)
			(t[i] = new Thread(Job::held)).start();
		for (Thread x : t)
			x.join();
		return t.length;
	}

	public static void main(String[] args) throws InterruptedException {
		bad = args[1].equals("bad");
		System.out.println((args[0].equals("concat") ? concat() : args[0].equals("tally") ? tally() : team()) > 0);
	}
}

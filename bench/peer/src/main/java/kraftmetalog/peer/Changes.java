package kraftmetalog.peer;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Creates ACLs through Kafka's Admin client, by so many callers at once, each of whom has a
 * client of its own (one client asks one thing at a time) and waits for its answer before it
 * asks again.
 *
 * <p>Arguments: {@code bootstrap.servers} or {@code bootstrap.controllers}, the address, callers,
 * seconds of warm-up, seconds of a round, rounds.
 * Prints {@code ready} when warm, and for each round the ACLs created, and nanoseconds by the
 * clock and of this process's CPU.
 */
public final class Changes {
    private Changes() { }

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = Map.of(arguments[0], arguments[1]);
        int callers = Integer.parseInt(arguments[2]);
        AtomicLong asked = new AtomicLong();
        AtomicLong created = new AtomicLong();
        for (int i = 0; i < callers; i++) {
            Admin admin = Admin.create(settings);
            Thread caller = new Thread(() -> create(admin, asked, created));
            caller.setDaemon(true);
            caller.start();
        }
        Thread.sleep(millis(arguments[3]));
        System.out.println("ready");
        OperatingSystemMXBean system =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        for (int round = Integer.parseInt(arguments[5]); round > 0; round--) {
            long count = created.get();
            long wall = System.nanoTime();
            long cpu = system.getProcessCpuTime();
            Thread.sleep(millis(arguments[4]));
            System.out.println((created.get() - count) + " " + (System.nanoTime() - wall)
                + " " + (system.getProcessCpuTime() - cpu));
        }
        System.exit(0);
    }

    private static void create(Admin admin, AtomicLong asked, AtomicLong created) {
        AccessControlEntry entry = new AccessControlEntry(
            "User:bench", "*", AclOperation.READ, AclPermissionType.ALLOW);
        String prefix = System.nanoTime() + "-";
        while (true) {
            ResourcePattern topic = new ResourcePattern(
                ResourceType.TOPIC, prefix + asked.incrementAndGet(), PatternType.LITERAL);
            try {
                admin.createAcls(List.of(new AclBinding(topic, entry))).all().get();
            } catch (Exception error) {
                error.printStackTrace();
                System.exit(1);
            }
            created.incrementAndGet();
        }
    }

    private static long millis(String seconds) {
        return (long) (Double.parseDouble(seconds) * 1000);
    }
}

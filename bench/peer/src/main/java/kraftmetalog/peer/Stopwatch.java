package kraftmetalog.peer;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Times operations in rounds, by the clock and by the CPU time of the whole process. */
final class Stopwatch {
    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final long BETWEEN_LOOKS_NS = 5_000_000;

    /** Where results go, so that no operation can be left out as useless. */
    static volatile Object sink;

    private final long warmupNs;
    private final long roundNs;
    private final int rounds;
    private final Map<String, List<double[]>> figures = new LinkedHashMap<>();

    interface Operation {
        Object run() throws Exception;
    }

    Stopwatch(double warmupS, double roundS, int rounds) {
        this.warmupNs = (long) (warmupS * 1e9);
        this.roundNs = (long) (roundS * 1e9);
        this.rounds = rounds;
    }

    /** Nanoseconds an operation, repeated as often as a round lasts. */
    void timeRepeated(String name, Operation operation) throws Exception {
        long start = System.nanoTime();
        long done = 0;
        while (System.nanoTime() - start < warmupNs) {
            sink = operation.run();
            done++;
        }
        long each = Math.max(1, warmupNs / Math.max(1, done));
        long batch = Math.max(1, BETWEEN_LOOKS_NS / each);
        for (int round = 0; round < rounds; round++) {
            long cpu = SYSTEM.getProcessCpuTime();
            long wall = System.nanoTime();
            long count = 0;
            do {
                for (long i = 0; i < batch; i++) {
                    sink = operation.run();
                }
                count += batch;
            } while (System.nanoTime() - wall < roundNs);
            keep(name, wall, cpu, count);
        }
    }

    /** Nanoseconds an item of an operation that handles {@code items} at once; whole runs. */
    void timeWhole(String name, long items, Operation operation) throws Exception {
        long start = System.nanoTime();
        do {
            sink = null;
            sink = operation.run();
        } while (System.nanoTime() - start < warmupNs);
        for (int round = 0; round < rounds; round++) {
            sink = null;
            long cpu = SYSTEM.getProcessCpuTime();
            long wall = System.nanoTime();
            sink = operation.run();
            keep(name, wall, cpu, items);
        }
    }

    /** A figure that is not a time. */
    void note(String name, double value) {
        figures.computeIfAbsent(name, any -> new ArrayList<>()).add(new double[] {value, value});
    }

    private void keep(String name, long wall, long cpu, long count) {
        double wallNs = (System.nanoTime() - wall) / (double) count;
        double cpuNs = (SYSTEM.getProcessCpuTime() - cpu) / (double) count;
        figures.computeIfAbsent(name, any -> new ArrayList<>()).add(new double[] {wallNs, cpuNs});
    }

    /** One line of JSON: figure to pairs of wall and CPU nanoseconds, a pair a round. */
    String json() {
        return figures.entrySet().stream()
            .map(entry -> "\"" + entry.getKey() + "\": [" + entry.getValue().stream()
                .map(pair -> "[" + pair[0] + ", " + pair[1] + "]")
                .collect(Collectors.joining(", ")) + "]")
            .collect(Collectors.joining(", ", "{", "}"));
    }
}

package kraftmetalog.peer;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Times operations in rounds, by the clock and by the CPU time of the whole process.
 *
 * <p>Warm-up and rounds last so many seconds of CPU: on a machine that is shared, seconds by
 * the clock may not suffice to compile what is measured.
 */
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
        long batch = 1;
        long start = SYSTEM.getProcessCpuTime();
        do {
            long wall = System.nanoTime();
            repeat(operation, batch);
            if (System.nanoTime() - wall < BETWEEN_LOOKS_NS) {
                batch *= 2;
            }
        } while (SYSTEM.getProcessCpuTime() - start < warmupNs);
        for (int round = 0; round < rounds; round++) {
            long cpu = SYSTEM.getProcessCpuTime();
            long wall = System.nanoTime();
            long count = 0;
            do {
                repeat(operation, batch);
                count += batch;
            } while (SYSTEM.getProcessCpuTime() - cpu < roundNs);
            keep(name, wall, cpu, count);
        }
    }

    private static void repeat(Operation operation, long times) throws Exception {
        for (long i = 0; i < times; i++) {
            sink = operation.run();
        }
    }

    /** Nanoseconds an item of an operation that handles {@code items} at once; whole runs. */
    void timeWhole(String name, long items, Operation operation) throws Exception {
        long start = SYSTEM.getProcessCpuTime();
        do {
            sink = null;
            sink = operation.run();
        } while (SYSTEM.getProcessCpuTime() - start < warmupNs);
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

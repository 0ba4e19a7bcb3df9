package kraftmetalog.peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.server.authorizer.Action;

/** Reads the workload files that bench/workloads.py makes. */
final class Files {
    private final Path folder;

    Files(Path folder) {
        this.folder = folder;
    }

    Replay replay(String log) {
        return new Replay(folder.resolve(log).toFile());
    }

    /** In the order of the file; every string is an object of its own. */
    Map<Uuid, StandardAcl> acls(String set) throws IOException {
        Map<Uuid, StandardAcl> acls = new LinkedHashMap<>(1 << 20);
        try (BufferedReader lines = open(set + ".acls.tsv")) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] cells = line.split("\t", -1);
                Uuid id = new Uuid(
                    Long.parseUnsignedLong(cells[0].substring(0, 16), 16),
                    Long.parseUnsignedLong(cells[0].substring(16), 16));
                acls.put(id, new StandardAcl(
                    ResourceType.valueOf(cells[1]), cells[2], PatternType.valueOf(cells[3]),
                    cells[4], cells[5],
                    AclOperation.valueOf(cells[6]), AclPermissionType.valueOf(cells[7])));
            }
        }
        return acls;
    }

    List<Request> requests(String list) throws IOException {
        Map<String, Context> contexts = new HashMap<>();
        List<Request> requests = new ArrayList<>();
        try (BufferedReader lines = open(list + ".requests.tsv")) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] cells = line.split("\t", -1);
                Context context = contexts.get(cells[0]);
                if (context == null) {
                    context = context(cells[0], cells[1]);
                    contexts.put(cells[0], context);
                }
                ResourcePattern pattern = new ResourcePattern(
                    ResourceType.valueOf(cells[2]), cells[3], PatternType.LITERAL);
                Action action = new Action(AclOperation.valueOf(cells[4]), pattern, 1, false, false);
                requests.add(new Request(context, List.of(action)));
            }
        }
        return requests;
    }

    static Context context(String principal, String host) throws IOException {
        String[] parts = principal.split(":", 2);
        return new Context(new KafkaPrincipal(parts[0], parts[1]), InetAddress.getByName(host));
    }

    private BufferedReader open(String name) throws IOException {
        return java.nio.file.Files.newBufferedReader(folder.resolve(name), StandardCharsets.UTF_8);
    }
}

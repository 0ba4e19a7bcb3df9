package kraftmetalog.peer;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.metadata.authorizer.DecisionAlone;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;

/**
 * Times one job on Kafka's own classes and prints one line of JSON.
 *
 * <p>Arguments: the folder of the workloads, seconds of CPU for warm-up and for a round,
 * rounds, the job, and what the job needs: an ACL set and a request list, or a log and the number of its records.
 */
public final class Peer {
    private static final int REQUESTS_A_CHANGE = 20;

    private Peer() { }

    public static void main(String[] arguments) throws Exception {
        Files files = new Files(Path.of(arguments[0]));
        Stopwatch watch = new Stopwatch(
            Double.parseDouble(arguments[1]), Double.parseDouble(arguments[2]),
            Integer.parseInt(arguments[3]));
        switch (arguments[4]) {
            case "decide" -> decide(files, watch, arguments[5], arguments[6]);
            case "many" -> many(files, watch, arguments[5], arguments[6], arguments[7]);
            case "churn" -> churn(files, watch, arguments[5], arguments[6]);
            case "page" -> page(files, watch, arguments[5], arguments[6]);
            case "by-resource-type" -> byResourceType(files, watch, arguments[5]);
            case "load" -> load(files, watch, arguments[5]);
            case "update" -> update(files, watch, arguments[5]);
            case "heap" -> heap(files, watch, arguments[5]);
            case "replay" -> replay(files, watch, arguments[5], arguments[6]);
            case "image" -> watch.note("topics", image(files, arguments[5]));
            case "first-decision" -> firstDecision(files, arguments[5]);
            default -> throw new IllegalArgumentException(arguments[4]);
        }
        System.out.println(watch.json());
    }

    private static void decide(Files files, Stopwatch watch, String set, String list)
            throws Exception {
        StandardAuthorizer authorizer = Authorizers.of(files.acls(set));
        DecisionAlone alone = new DecisionAlone(authorizer);
        Request[] requests = files.requests(list).toArray(new Request[0]);
        int[] next = new int[1];
        watch.timeRepeated("authorize", () -> {
            Request request = requests[next[0] = (next[0] + 1) % requests.length];
            return authorizer.authorize(request.context(), request.actions());
        });
        watch.timeRepeated("decision", () -> {
            Request request = requests[next[0] = (next[0] + 1) % requests.length];
            return alone.authorize(request.context(), request.actions().get(0));
        });
    }

    /** So many actions, each by a call of its own, and all by one call. */
    private static void many(Files files, Stopwatch watch, String set, String list, String count)
            throws Exception {
        StandardAuthorizer authorizer = Authorizers.of(files.acls(set));
        Request[] requests =
            files.requests(list).subList(0, Integer.parseInt(count)).toArray(new Request[0]);
        List<Action> actions = Stream.of(requests).map(each -> each.actions().get(0)).toList();
        int[] next = new int[1];
        watch.timeRepeated("single", () -> {
            Request request = requests[next[0] = (next[0] + 1) % requests.length];
            return authorizer.authorize(request.context(), request.actions());
        });
        watch.timeRepeated("many", () -> authorizer.authorize(requests[0].context(), actions));
    }

    /** An ACL is removed and added again, then so many requests, and so on. */
    private static void churn(Files files, Stopwatch watch, String set, String list)
            throws Exception {
        List<Map.Entry<Uuid, StandardAcl>> acls = new ArrayList<>(files.acls(set).entrySet());
        StandardAuthorizer authorizer = Authorizers.empty();
        acls.forEach(acl -> authorizer.addAcl(acl.getKey(), acl.getValue()));
        authorizer.completeInitialLoad();
        Request[] requests = files.requests(list).toArray(new Request[0]);
        SplitMix64 random = new SplitMix64(10);
        int[] next = new int[1];
        watch.timeRepeated("round", () -> {
            Map.Entry<Uuid, StandardAcl> acl = acls.get(random.below(acls.size()));
            authorizer.removeAcl(acl.getKey());
            authorizer.addAcl(acl.getKey(), acl.getValue());
            Object results = null;
            for (int i = 0; i < REQUESTS_A_CHANGE; i++) {
                Request request = requests[next[0] = (next[0] + 1) % requests.length];
                results = authorizer.authorize(request.context(), request.actions());
            }
            return results;
        });
    }

    /** All of the list by one call. */
    private static void page(Files files, Stopwatch watch, String set, String list)
            throws Exception {
        StandardAuthorizer authorizer = Authorizers.of(files.acls(set));
        List<Request> requests = files.requests(list);
        List<Action> actions = requests.stream().map(each -> each.actions().get(0)).toList();
        watch.timeRepeated("page", () -> authorizer.authorize(requests.get(0).context(), actions));
    }

    private static void byResourceType(Files files, Stopwatch watch, String set) throws Exception {
        StandardAuthorizer authorizer = Authorizers.of(files.acls(set));
        Context user = Files.context("User:test-user", "127.0.0.2");
        Context nobody = Files.context("User:nobody", "127.0.0.2");
        watch.timeRepeated("allowed", () ->
            authorizer.authorizeByResourceType(user, AclOperation.READ, ResourceType.TOPIC));
        watch.timeRepeated("denied", () ->
            authorizer.authorizeByResourceType(nobody, AclOperation.READ, ResourceType.TOPIC));
        watch.timeRepeated("list_all", () -> {
            long[] count = new long[1];
            authorizer.acls(AclBindingFilter.ANY).forEach(acl -> count[0]++);
            return count;
        });
    }

    private static void load(Files files, Stopwatch watch, String set) throws Exception {
        Map<Uuid, StandardAcl> inOrder = files.acls(set);
        Map<Uuid, StandardAcl> hashed = new HashMap<>(inOrder);
        watch.timeWhole("add", inOrder.size(), () -> {
            StandardAuthorizer authorizer = Authorizers.empty();
            inOrder.forEach(authorizer::addAcl);
            return authorizer;
        });
        watch.timeWhole("snapshot", hashed.size(), () -> Authorizers.of(hashed));
    }

    private static void update(Files files, Stopwatch watch, String set) throws Exception {
        List<Map.Entry<Uuid, StandardAcl>> acls = new ArrayList<>(files.acls(set).entrySet());
        StandardAuthorizer authorizer = Authorizers.empty();
        acls.forEach(acl -> authorizer.addAcl(acl.getKey(), acl.getValue()));
        SplitMix64 random = new SplitMix64(10);
        watch.timeRepeated("update", () -> {
            Map.Entry<Uuid, StandardAcl> acl = acls.get(random.below(acls.size()));
            authorizer.removeAcl(acl.getKey());
            authorizer.addAcl(acl.getKey(), acl.getValue());
            return acl;
        });
    }

    private static void heap(Files files, Stopwatch watch, String set) throws Exception {
        long before = usedHeap();
        Map<Uuid, StandardAcl> acls = files.acls(set);
        long objects = usedHeap();
        StandardAuthorizer authorizer = Authorizers.of(acls);
        long index = usedHeap();
        watch.note("objects", (objects - before) / (double) acls.size());
        watch.note("index", (index - objects) / (double) acls.size());
        Stopwatch.sink = List.of(acls, authorizer);
    }

    private static long usedHeap() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static void replay(Files files, Stopwatch watch, String log, String records)
            throws Exception {
        Replay replay = files.replay(log);
        long items = Long.parseLong(records);
        watch.timeWhole("decode", items, replay::decode);
        watch.timeWhole("apply", items, replay::apply);
        watch.timeWhole("ready", items, replay::ready);
    }

    private static int image(Files files, String log) throws Exception {
        return files.replay(log).image().topics().topicsById().size();
    }

    private static void firstDecision(Files files, String log) throws Exception {
        StandardAuthorizer authorizer = files.replay(log).ready();
        Request request = files.requests("hot").get(0);
        Stopwatch.sink = authorizer.authorize(request.context(), request.actions());
    }
}

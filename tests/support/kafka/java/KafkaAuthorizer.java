import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;

/**
 * What Kafka's StandardAuthorizer answers to the lines of stdin, whose words tabs part:
 * "acl" with the fields of an ACL (enums by code), "load" with the default rule and super users,
 * "ask" and "ask-type" with a question. Each question has one line in stdout: the result, or the
 * class of the exception.
 */
public final class KafkaAuthorizer {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Map<Uuid, StandardAcl> acls = new HashMap<>();
        StandardAuthorizer authorizer = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            switch (words[0]) {
                case "acl" -> acls.put(Uuid.randomUuid(), acl(words));
                case "load" -> {
                    authorizer = loaded(acls, words[1], words[2]);
                    acls = new HashMap<>();
                }
                default -> out.println(answer(authorizer, words));
            }
        }
        out.flush();
    }

    private static StandardAcl acl(String[] words) {
        return new StandardAcl(
            ResourceType.fromCode(Byte.parseByte(words[1])), words[2],
            PatternType.fromCode(Byte.parseByte(words[3])), words[4], words[5],
            AclOperation.fromCode(Byte.parseByte(words[6])),
            AclPermissionType.fromCode(Byte.parseByte(words[7])));
    }

    private static StandardAuthorizer loaded(
            Map<Uuid, StandardAcl> acls, String allowEveryone, String superUsers) {
        StandardAuthorizer authorizer = new StandardAuthorizer();
        authorizer.configure(Map.of(
            "node.id", "0",
            "allow.everyone.if.no.acl.found", allowEveryone,
            "super.users", superUsers));
        authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        authorizer.loadSnapshot(acls);
        authorizer.completeInitialLoad();
        return authorizer;
    }

    private static String answer(StandardAuthorizer authorizer, String[] words) {
        try {
            String[] named = words[1].split(":", 2);
            KafkaPrincipal principal = new KafkaPrincipal(named[0], named[1]);
            RequestContext context = new RequestContext(
                new RequestHeader(ApiKeys.PRODUCE, ApiKeys.PRODUCE.latestVersion(), "test", 0), "",
                InetAddress.getByName(words[2]), principal, new ListenerName("CLIENT"),
                SecurityProtocol.SASL_PLAINTEXT, ClientInformation.EMPTY, false);
            AclOperation operation = AclOperation.fromCode(Byte.parseByte(words[3]));
            ResourceType type = ResourceType.fromCode(Byte.parseByte(words[4]));
            if (words[0].equals("ask-type")) {
                return authorizer.authorizeByResourceType(context, operation, type).name();
            }
            ResourcePattern resource = new ResourcePattern(type, words[5], PatternType.LITERAL);
            Action action = new Action(operation, resource, 1, true, true);
            return authorizer.authorize(context, List.of(action)).get(0).name();
        } catch (RuntimeException | java.net.UnknownHostException error) {
            return error.getClass().getSimpleName();
        }
    }
}

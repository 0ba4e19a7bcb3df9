import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
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
 *
 * <ul>
 * <li>"acl", its fields (enums by code): the next ACL, counted from 0; "name", "session": the next
 *     name, or principal and host
 * <li>"load", the default rule, super users, numbers of ACLs: an authorizer with these ACLs
 * <li>"add", "remove" with the number of an ACL: a change of it
 * <li>"ask" with session, operation, type and name; "ask-type" with the first three
 * <li>"end": forget the ACLs, names and sessions
 * </ul>
 *
 * <p>Each question has one line in stdout: the result, or the class of the exception. With the
 * property "rules", a tab and the rule of the audit line follow: the number of the first ACL
 * that has its text, or the text.
 */
public final class KafkaAuthorizer {
    private static final String RULE = "rule ";

    private final List<StandardAcl> acls = new ArrayList<>();
    private final Map<String, Integer> numbers = new HashMap<>();
    private final List<String> names = new ArrayList<>();
    private final List<RequestContext> sessions = new ArrayList<>();
    private final List<Exception> refused = new ArrayList<>();
    private final boolean withRules = Boolean.getBoolean("rules");
    private StandardAuthorizer authorizer;
    private String auditLine;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(
            new java.io.BufferedOutputStream(System.out, 1 << 16), false, StandardCharsets.UTF_8);
        KafkaAuthorizer kafka = new KafkaAuthorizer();
        if (kafka.withRules) {
            System.setErr(kafka.auditLog());
        }
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            kafka.take(line.split("\t", -1), out);
        }
        out.flush();
    }

    /** slf4j-simple prints a line by one call. */
    private PrintStream auditLog() {
        return new PrintStream(System.err, true) {
            @Override
            public void println(String line) {
                auditLine = line;
            }
        };
    }

    private void take(String[] words, PrintStream out) {
        switch (words[0]) {
            case "acl" -> {
                StandardAcl acl = acl(words);
                numbers.putIfAbsent("MatchingAcl(acl=" + acl + ")", acls.size());
                acls.add(acl);
            }
            case "name" -> names.add(words[1].translateEscapes());
            case "session" -> openSession(words);
            case "load" -> authorizer = loaded(words);
            case "add" -> authorizer.addAcl(id(words[1]), acls.get(Integer.parseInt(words[1])));
            case "remove" -> authorizer.removeAcl(id(words[1]));
            case "end" -> List.of(acls, names, sessions, refused).forEach(List::clear);
            default -> out.println(answer(words));
        }
        if (words[0].equals("end")) {
            numbers.clear();
        }
    }

    private static Uuid id(String number) {
        return new Uuid(1, Long.parseLong(number));
    }

    private static StandardAcl acl(String[] words) {
        return new StandardAcl(
            ResourceType.fromCode(Byte.parseByte(words[1])), words[2].translateEscapes(),
            PatternType.fromCode(Byte.parseByte(words[3])), words[4].translateEscapes(),
            words[5].translateEscapes(),
            AclOperation.fromCode(Byte.parseByte(words[6])),
            AclPermissionType.fromCode(Byte.parseByte(words[7])));
    }

    private void openSession(String[] words) {
        RequestContext context = null;
        Exception error = null;
        try {
            String[] named = words[1].translateEscapes().split(":", 2);
            KafkaPrincipal principal = new KafkaPrincipal(named[0], named[1]);
            context = new RequestContext(
                new RequestHeader(ApiKeys.PRODUCE, ApiKeys.PRODUCE.latestVersion(), "test", 0), "",
                InetAddress.getByName(words[2]), principal, new ListenerName("CLIENT"),
                SecurityProtocol.SASL_PLAINTEXT, ClientInformation.EMPTY, false);
        } catch (RuntimeException | java.net.UnknownHostException unusable) {
            error = unusable;
        }
        sessions.add(context);
        refused.add(error);
    }

    private StandardAuthorizer loaded(String[] words) {
        Map<Uuid, StandardAcl> given = new HashMap<>();
        for (String number : words[3].isEmpty() ? new String[0] : words[3].split(",")) {
            given.put(id(number), acls.get(Integer.parseInt(number)));
        }
        StandardAuthorizer made = new StandardAuthorizer();
        made.configure(Map.of(
            "node.id", "0",
            "allow.everyone.if.no.acl.found", words[1],
            "super.users", words[2].translateEscapes()));
        made.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        made.loadSnapshot(given);
        made.completeInitialLoad();
        return made;
    }

    private String answer(String[] words) {
        int session = Integer.parseInt(words[1]);
        RequestContext context = sessions.get(session);
        try {
            if (context == null) {
                throw refused.get(session);
            }
            AclOperation operation = AclOperation.fromCode(Byte.parseByte(words[2]));
            ResourceType type = ResourceType.fromCode(Byte.parseByte(words[3]));
            if (words[0].equals("ask-type")) {
                return authorizer.authorizeByResourceType(context, operation, type).name();
            }
            String name = names.get(Integer.parseInt(words[4]));
            Action action = new Action(
                operation, new ResourcePattern(type, name, PatternType.LITERAL), 1, true, true);
            String result = authorizer.authorize(context, List.of(action)).get(0).name();
            return withRules ? result + "\t" + rule() : result;
        } catch (Exception error) {
            return error.getClass().getSimpleName();
        }
    }

    private String rule() {
        String rule = auditLine.substring(auditLine.lastIndexOf(RULE) + RULE.length());
        Integer number = numbers.get(rule);
        return number == null ? rule.split("\\(")[0] : number.toString();
    }
}

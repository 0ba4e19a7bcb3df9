package kraftmetalog.peer;

import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;

/** Kafka's authorizer without a server around it. */
final class Authorizers {
    private Authorizers() { }

    static StandardAuthorizer empty() {
        StandardAuthorizer authorizer = new StandardAuthorizer();
        authorizer.configure(Map.of("node.id", "0"));
        authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        return authorizer;
    }

    static StandardAuthorizer of(Map<Uuid, StandardAcl> acls) {
        StandardAuthorizer authorizer = empty();
        authorizer.loadSnapshot(acls);
        authorizer.completeInitialLoad();
        return authorizer;
    }
}

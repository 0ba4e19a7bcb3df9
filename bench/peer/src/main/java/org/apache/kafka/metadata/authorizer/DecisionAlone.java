package org.apache.kafka.metadata.authorizer;

import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/** Kafka's decision without the metrics around it; it lives here because Kafka keeps it to its package. */
public final class DecisionAlone {
    private final StandardAuthorizerData data;

    public DecisionAlone(Map<Uuid, StandardAcl> acls) {
        data = StandardAuthorizerData.createEmpty()
            .copyWithNewLoadingComplete(true)
            .copyWithNewConfig(0, Set.of(), AuthorizationResult.DENIED);
        acls.forEach(data::addAcl);
    }

    public AuthorizationResult authorize(AuthorizableRequestContext context, Action action) {
        return data.authorize(context, action);
    }
}

package org.apache.kafka.metadata.authorizer;

import java.lang.reflect.Field;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/** Kafka's decision without the metrics around it. It lives here since Kafka hides it. */
public final class DecisionAlone {
    private final StandardAuthorizerData data;

    public DecisionAlone(StandardAuthorizer authorizer) throws ReflectiveOperationException {
        Field field = StandardAuthorizer.class.getDeclaredField("data");
        field.setAccessible(true);
        data = (StandardAuthorizerData) field.get(authorizer);
    }

    public AuthorizationResult authorize(AuthorizableRequestContext context, Action action) {
        return data.authorize(context, action);
    }
}

package kraftmetalog.peer;

import java.net.InetAddress;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;

/** Who asks: a Produce request on a SASL listener. */
record Context(KafkaPrincipal principal, InetAddress clientAddress)
        implements AuthorizableRequestContext {
    @Override
    public String listenerName() {
        return "CLIENT";
    }

    @Override
    public SecurityProtocol securityProtocol() {
        return SecurityProtocol.SASL_PLAINTEXT;
    }

    @Override
    public int requestType() {
        return 0;
    }

    @Override
    public int requestVersion() {
        return 0;
    }

    @Override
    public String clientId() {
        return "bench";
    }

    @Override
    public int correlationId() {
        return 0;
    }
}

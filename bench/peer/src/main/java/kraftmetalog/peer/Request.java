package kraftmetalog.peer;

import java.util.List;
import org.apache.kafka.server.authorizer.Action;

/** One call of authorize. */
record Request(Context context, List<Action> actions) { }

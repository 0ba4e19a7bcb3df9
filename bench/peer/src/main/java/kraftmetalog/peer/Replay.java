package kraftmetalog.peer;

import java.io.File;
import java.io.IOException;
import java.util.function.Consumer;
import org.apache.kafka.common.metadata.AccessControlEntryRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.image.AclsDelta;
import org.apache.kafka.image.AclsImage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.internals.RecordsIterator;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Reads a log, of ACL records unless it says otherwise, as Kafka's raft layer does, and carries them further. */
final class Replay {
    private static final int LARGEST_BATCH = 8 * 1024 * 1024;

    private final File log;

    Replay(File log) {
        this.log = log;
    }

    /** Checksums included; the records are looked at and dropped. */
    long decode() throws IOException {
        long[] count = new long[1];
        read(record -> count[0]++);
        return count[0];
    }

    AclsImage apply() throws IOException {
        AclsDelta delta = new AclsDelta(AclsImage.EMPTY);
        read(record -> delta.replay((AccessControlEntryRecord) record));
        return delta.apply();
    }

    /** The whole image of a log with any records, as MetadataLoader makes it. */
    MetadataImage image() throws IOException {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        read(delta::replay);
        return delta.apply(new MetadataProvenance(1, 1, 1, true));
    }

    StandardAuthorizer ready() throws IOException {
        StandardAuthorizer authorizer = Authorizers.empty();
        authorizer.loadSnapshot(apply().acls());
        authorizer.completeInitialLoad();
        return authorizer;
    }

    private void read(Consumer<ApiMessage> consumer) throws IOException {
        try (FileRecords file = FileRecords.open(log, false);
             RecordsIterator<ApiMessageAndVersion> batches = new RecordsIterator<>(
                 file, MetadataRecordSerde.INSTANCE, BufferSupplier.create(), LARGEST_BATCH, true,
                 new LogContext())) {
            while (batches.hasNext()) {
                Batch<ApiMessageAndVersion> batch = batches.next();
                for (ApiMessageAndVersion message : batch.records()) {
                    consumer.accept(message.message());
                }
            }
        }
    }
}

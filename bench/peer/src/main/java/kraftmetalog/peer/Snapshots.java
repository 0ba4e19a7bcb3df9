package kraftmetalog.peer;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.image.AclsImage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.RaftSnapshotWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.FileRawSnapshotReader;
import org.apache.kafka.snapshot.FileRawSnapshotWriter;
import org.apache.kafka.snapshot.RecordsSnapshotReader;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;

/**
 * Times how Kafka writes a snapshot of ACLs and loads it, and prints one line of JSON.
 *
 * <p>Arguments: the folder of the workloads, seconds of CPU for warm-up, rounds, an ACL set, and
 * the folder to write to.
 */
public final class Snapshots {
    private static final OffsetAndEpoch ID = new OffsetAndEpoch(1, 1);
    private static final int LARGEST_BATCH = 8 * 1024 * 1024;
    private static final int RECORDS_IN_BATCH = 1024;

    private Snapshots() { }

    public static void main(String[] arguments) throws Exception {
        Stopwatch watch = new Stopwatch(
            Double.parseDouble(arguments[1]), 0, Integer.parseInt(arguments[2]));
        Map<Uuid, StandardAcl> acls =
            new HashMap<>(new Files(Path.of(arguments[0])).acls(arguments[3]));
        Path folder = Path.of(arguments[4]);
        AclsImage image = new AclsImage(acls);
        watch.timeWhole("write", acls.size(), () -> write(image, folder));
        watch.timeWhole("load", acls.size(), () -> load(folder));
        System.out.println(watch.json());
    }

    private static Object write(AclsImage image, Path folder) throws Exception {
        Path file = folder.resolve(String.format("%020d-%010d.checkpoint", 1, 1));
        java.nio.file.Files.deleteIfExists(file);
        RecordsSnapshotWriter<ApiMessageAndVersion> snapshot =
            new RecordsSnapshotWriter.Builder()
                .setRawSnapshotWriter(FileRawSnapshotWriter.create(folder, ID))
                .setMaxBatchSizeBytes(LARGEST_BATCH)
                .setKraftVersion(KRaftVersion.KRAFT_VERSION_0)
                .setVoterSet(Optional.empty())
                .build(MetadataRecordSerde.INSTANCE);
        RaftSnapshotWriter writer = new RaftSnapshotWriter(snapshot, RECORDS_IN_BATCH);
        image.write(writer);
        writer.close(true);
        return writer.frozenSize();
    }

    private static Object load(Path folder) throws Exception {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        try (RecordsSnapshotReader<ApiMessageAndVersion> reader = RecordsSnapshotReader.of(
                FileRawSnapshotReader.open(folder, ID), MetadataRecordSerde.INSTANCE,
                BufferSupplier.create(), LARGEST_BATCH, true, new LogContext())) {
            while (reader.hasNext()) {
                Batch<ApiMessageAndVersion> batch = reader.next();
                batch.records().forEach(record -> delta.replay(record.message()));
            }
        }
        delta.finishSnapshot();
        return delta.apply(new MetadataProvenance(1, 1, 0, true));
    }
}

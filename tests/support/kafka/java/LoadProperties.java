import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

/** Reads texts, each after its length, and writes what java.util.Properties loads from each:
 *  the number of properties, or -1 where it refuses, then each key and value as UTF-16. */
class LoadProperties {
    public static void main(String[] arguments) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        for (int texts = in.readInt(); texts > 0; texts--) {
            byte[] text = in.readNBytes(in.readInt());
            Properties properties = new Properties();
            try {
                properties.load(new ByteArrayInputStream(text));
            } catch (IllegalArgumentException refused) {
                out.writeInt(-1);
                continue;
            }
            out.writeInt(properties.size());
            for (Map.Entry<Object, Object> property : properties.entrySet()) {
                write(out, (String) property.getKey());
                write(out, (String) property.getValue());
            }
        }
        out.flush();
    }

    private static void write(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_16BE);
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}

import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.Header;
import io.debezium.engine.format.Json;
import java.io.BufferedWriter;
import java.io.FileReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** Runs Debezium's engine with the options of a file and writes each record as one line: java Capture OPTIONS LINES. */
public final class Capture {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final Map<String, Long> OFFSETS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        Properties options = new Properties();
        try (FileReader reader = new FileReader(arguments[0])) {
            options.load(reader);
        }
        BufferedWriter out = Files.newBufferedWriter(Path.of(arguments[1]));
        DebeziumEngine<ChangeEvent<String, String>> engine = DebeziumEngine.create(Json.class, Json.class, Json.class)
                .using(options)
                .notifying(event -> write(out, event))
                .using((success, message, error) -> System.err.println("ended: " + success + " " + message))
                .build();
        Thread worker = new Thread(engine);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(engine, worker)));
        worker.start();
        worker.join();
    }

    private static void write(BufferedWriter out, ChangeEvent<String, String> event) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("topic", event.destination());
        line.put("partition", 0);
        line.put("offset", OFFSETS.merge(event.destination(), 1L, Long::sum) - 1);
        line.put("timestamp", System.currentTimeMillis());
        line.put("key", event.key());
        line.put("value", event.value());
        List<List<Object>> headers = new ArrayList<>();
        for (Header<?> header : event.headers()) {
            headers.add(List.of(header.getKey(), String.valueOf(header.getValue())));
        }
        line.put("headers", headers);
        try {
            out.write(MAPPER.writeValueAsString(line));
            out.newLine();
            out.flush();
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }

    private static void stop(DebeziumEngine<?> engine, Thread worker) {
        try {
            engine.close();
            worker.join(10_000);
        } catch (Exception error) {
            System.err.println(error);
        }
    }
}

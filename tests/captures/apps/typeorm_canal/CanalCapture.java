import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONWriter;
import com.alibaba.otter.canal.connector.core.producer.MQMessageUtils;
import com.alibaba.otter.canal.instance.manager.CanalInstanceWithManager;
import com.alibaba.otter.canal.instance.manager.model.Canal;
import com.alibaba.otter.canal.instance.manager.model.CanalParameter;
import com.alibaba.otter.canal.parse.inbound.mysql.MysqlEventParser;
import com.alibaba.otter.canal.parse.inbound.mysql.tsdb.MemoryTableMeta;
import com.alibaba.otter.canal.parse.inbound.mysql.tsdb.TableMetaTSDB;
import com.alibaba.otter.canal.parse.inbound.mysql.tsdb.TableMetaTSDBFactory;
import com.alibaba.otter.canal.protocol.FlatMessage;
import com.alibaba.otter.canal.protocol.Message;
import com.alibaba.otter.canal.protocol.ClientIdentity;
import com.alibaba.otter.canal.protocol.position.EntryPosition;
import com.alibaba.otter.canal.server.embedded.CanalServerWithEmbedded;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Canal's embedded server on one MariaDB, and what its Kafka producer would send, one line a message.
 *
 * <p>Arguments: port, binlog file, binlog position, output file. A line is the clock in milliseconds, a tab and the
 * message. Ends when its standard input ends.
 */
public final class CanalCapture {
    private static final String DESTINATION = "app";

    /** Canal's memory of the tables, kept up by the DDL that it reads; it begins empty, as the databases do. */
    private static final class Tables extends MemoryTableMeta {
        @Override
        public boolean rollback(EntryPosition position) {
            return true;
        }
    }

    private static final class TablesFactory implements TableMetaTSDBFactory {
        @Override
        public TableMetaTSDB build(String destination, String springXml) {
            return new Tables();
        }

        @Override
        public void destory(String destination) {}
    }

    public static void main(String[] args) throws Exception {
        CanalServerWithEmbedded server = CanalServerWithEmbedded.instance();
        Canal canal = new Canal();
        canal.setId(1L);
        canal.setName(DESTINATION);
        canal.setCanalParameter(parameters(Integer.parseInt(args[0]), args[1], Long.parseLong(args[2])));
        server.setCanalInstanceGenerator(destination -> instance(canal));
        server.start();
        server.start(DESTINATION);
        ClientIdentity client = new ClientIdentity(DESTINATION, (short) 1001, "");
        server.subscribe(client);
        try (OutputStream out = new FileOutputStream(args[3])) {
            copy(server, client, out);
        }
        System.exit(0);
    }

    private static CanalParameter parameters(int port, String file, long position) {
        CanalParameter parameter = new CanalParameter();
        parameter.setSlaveId(4711L);
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", port);
        parameter.setGroupDbAddresses(
                List.of(List.of(new CanalParameter.DataSourcing(CanalParameter.SourcingType.MYSQL, address))));
        parameter.setDbUsername("capture");
        parameter.setDbPassword("capture");
        parameter.setDefaultDatabaseName("mysql");
        parameter.setMetaMode(CanalParameter.MetaMode.MEMORY);
        parameter.setIndexMode(CanalParameter.IndexMode.MEMORY);
        parameter.setConnectionCharset("UTF-8");
        parameter.setParallel(true);
        parameter.setPositions(List.of(String.format(
                "{\"journalName\":\"%s\",\"position\":%d,\"timestamp\":%d}",
                file, position, System.currentTimeMillis())));
        return parameter;
    }

    private static CanalInstanceWithManager instance(Canal canal) {
        CanalInstanceWithManager instance = new CanalInstanceWithManager(canal, ".*\\..*");
        MysqlEventParser parser = (MysqlEventParser) instance.getEventParser();
        parser.setTableMetaTSDBFactory(new TablesFactory());
        parser.setTsdbJdbcUrl("");
        parser.setTsdbJdbcUserName("");
        parser.setTsdbJdbcPassword("");
        parser.setEnableTsdb(true);
        return instance;
    }

    private static void copy(CanalServerWithEmbedded server, ClientIdentity client, OutputStream out) throws Exception {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
        Thread parent = new Thread(CanalCapture::awaitEnd);
        parent.start();
        while (parent.isAlive()) {
            Message message = server.getWithoutAck(client, 50, 100L, TimeUnit.MILLISECONDS);
            if (message.getId() == -1) {
                continue;
            }
            MQMessageUtils.EntryRowData[] rows = MQMessageUtils.buildMessageData(message, pool);
            for (FlatMessage flat : MQMessageUtils.messageConverter(rows, message.getId())) {
                out.write((System.currentTimeMillis() + "\t").getBytes(StandardCharsets.US_ASCII));
                out.write(JSON.toJSONBytes(flat, JSONWriter.Feature.WriteNulls, JSONWriter.Feature.LargeObject));
                out.write('\n');
            }
            out.flush();
            server.ack(client, message.getId());
        }
    }

    private static void awaitEnd() {
        try {
            while (System.in.read() >= 0) {}
        } catch (java.io.IOException ended) {
            return;
        }
    }
}

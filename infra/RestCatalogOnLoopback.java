import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** Iceberg's own REST catalog, for tests: on 127.0.0.1, where upstream's launcher listens everywhere. */
public class RestCatalogOnLoopback {
  public static void main(String[] told) throws Exception {
    Map<String, String> properties = new HashMap<>();
    for (int at = 1; at < told.length; at++) {
      properties.put(told[at].substring(0, told[at].indexOf('=')), told[at].substring(told[at].indexOf('=') + 1));
    }
    properties.put("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog");
    Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(told[0])));
    ServletContextHandler context = new ServletContextHandler();
    RESTCatalogAdapter adapter = new RESTCatalogAdapter(CatalogUtil.buildIcebergCatalog("lake", properties, null));
    context.addServlet(new ServletHolder(new RESTCatalogServlet(adapter)), "/*");
    server.setHandler(context);
    server.start();
    server.join();
  }
}

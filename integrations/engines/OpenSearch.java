import java.util.List;
import java.util.Map;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.index.mapper.MapperExtrasPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.script.expression.ExpressionPlugin;
import org.opensearch.transport.Netty4Plugin;

/**
 * Runs a node of OpenSearch with its data in a folder on the loopback interface, on ports that the system chooses, until
 * standard input ends: java -cp JARS OpenSearch.java FOLDER. It prints the port.
 */
public final class OpenSearch {
    public static void main(String[] arguments) throws Exception {
        Settings settings = Settings.builder()
                .put("path.home", arguments[0])
                .put("cluster.name", "test")
                .put("node.name", "test")
                .put("discovery.type", "single-node")
                .put("network.host", "127.0.0.1")
                .put("http.type", "netty4")
                .put("http.port", "0")
                .put("transport.type", "netty4")
                .put("transport.port", "0")
                .put("cluster.routing.allocation.disk.threshold_enabled", false)
                .build();
        Server node = new Server(settings);
        node.start();
        HttpServerTransport http = node.injector().getInstance(HttpServerTransport.class);
        System.out.println("port " + http.boundAddress().publishAddress().getPort());
        System.out.flush();

        while (System.in.read() >= 0) {
            // Until the test ends, or whoever runs it.
        }
        node.close();
        System.exit(0);
    }

    /** A node with modules that every distribution of OpenSearch has. */
    private static final class Server extends Node {
        Server(Settings settings) {
            super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "test"),
                    List.of(Netty4Plugin.class, CommonAnalysisPlugin.class, MapperExtrasPlugin.class,
                            PainlessPlugin.class, ExpressionPlugin.class),
                    true);
        }
    }
}

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.opensearch.Version;
import org.opensearch.common.settings.Settings;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.PluginInfo;

/**
 * Runs a node of OpenSearch with its data in a folder on the loopback interface, on ports that the system chooses, until
 * standard input ends: java -cp JARS OpenSearch.java FOLDER. It prints the port.
 */
public final class OpenSearch {
    private static final boolean OLD = Version.CURRENT.major < 3;
    private static final String MODULE = OLD ? "Plugin" : "ModulePlugin";
    /** Modules and plugins of a distribution; Maven Central does not have all of every version. */
    private static final List<String> MODULES = List.of("transport.Netty4" + MODULE,
            "analysis.common.CommonAnalysis" + MODULE, "index.mapper.MapperExtras" + MODULE, "painless.Painless" + MODULE,
            "script.expression.Expression" + MODULE, "neuralsearch.plugin.NeuralSearch");

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

    private static final class Server extends Node {
        @SuppressWarnings("unchecked")
        Server(Settings settings) {
            super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "test"), modules(), true);
        }

        /** The modules among the jars, as classes for OpenSearch 2 and with their descriptions for later versions. */
        @SuppressWarnings("rawtypes")
        private static Collection modules() {
            List<Object> found = new ArrayList<>();
            for (String name : MODULES) {
                try {
                    Class<?> module = Class.forName("org.opensearch." + name);
                    found.add(OLD ? module : described(module.getName()));
                } catch (ClassNotFoundException other) {
                    System.err.println("without " + name);
                }
            }
            return found;
        }

        private static PluginInfo described(String name) {
            return new PluginInfo(name, name, "1", Version.CURRENT, "17", name, null, List.of(), false);
        }
    }
}

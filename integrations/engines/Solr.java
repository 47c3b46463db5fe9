import java.lang.reflect.Method;

/**
 * Runs a Solr server of one folder on the loopback interface, on a port that the system chooses, until standard input
 * ends: java -cp JARS Solr.java FOLDER. It prints the port.
 */
public final class Solr {
    /** Of Solr 9 (solr-test-framework) and of Solr 8 (solr-core). */
    private static final String[] PACKAGES = {"org.apache.solr.embedded.", "org.apache.solr.client.solrj.embedded."};

    public static void main(String[] arguments) throws Exception {
        String home = found(PACKAGES);
        Class<?> configuration = Class.forName(home + "JettyConfig");
        Object builder = configuration.getMethod("builder").invoke(null);
        builder.getClass().getMethod("setPort", int.class).invoke(builder, 0);
        builder.getClass().getMethod("setContext", String.class).invoke(builder, "/solr");
        Object built = builder.getClass().getMethod("build").invoke(builder);

        // The runner binds 127.0.0.1, and nothing else.
        Class<?> runner = Class.forName(home + "JettySolrRunner");
        Object server = runner.getConstructor(String.class, configuration).newInstance(arguments[0], built);
        runner.getMethod("start").invoke(server);
        Method port = runner.getMethod("getLocalPort");
        System.out.println("port " + port.invoke(server));
        System.out.flush();

        while (System.in.read() >= 0) {
            // Until the test ends, or whoever runs it.
        }
        runner.getMethod("stop").invoke(server);
        System.exit(0);
    }

    private static String found(String[] packages) throws ClassNotFoundException {
        for (String name : packages) {
            try {
                Class.forName(name + "JettySolrRunner");
                return name;
            } catch (ClassNotFoundException other) {
                // Another version of Solr.
            }
        }
        throw new ClassNotFoundException("JettySolrRunner");
    }
}

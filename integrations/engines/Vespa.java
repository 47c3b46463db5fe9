import ai.vespa.rankingexpression.importer.ModelImporter;
import ai.vespa.rankingexpression.importer.lightgbm.LightGBMImporter;
import ai.vespa.rankingexpression.importer.xgboost.XGBoostImporter;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.yahoo.schema.ApplicationBuilder;
import com.yahoo.schema.RankProfile;
import com.yahoo.searchlib.rankingexpression.RankingExpression;
import com.yahoo.searchlib.rankingexpression.evaluation.DoubleValue;
import com.yahoo.searchlib.rankingexpression.evaluation.MapContext;
import com.yahoo.searchlib.rankingexpression.evaluation.StringValue;
import com.yahoo.searchlib.rankingexpression.evaluation.Value;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Evaluates what Vespa reads: java -cp JARS Vespa.java FILE PROFILE ROWS. FILE is a schema with that rank profile, or a
 * model for its lightgbm() or xgboost(), if PROFILE is that word. ROWS is a JSON list of {feature: number or text}, or, for
 * a profile with a global phase, of lists of hits. It prints the score of each row, in lines.
 */
public final class Vespa {
    private static final Pattern RANK = Pattern.compile("reciprocal_rank\\((\\w+), *(\\d+)\\)");

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper().enable(JsonParser.Feature.ALLOW_NON_NUMERIC_NUMBERS);
        JsonNode rows = json.readTree(Files.readString(Path.of(arguments[2])));
        String profile = arguments[1];
        if (profile.equals("lightgbm") || profile.equals("xgboost")) {
            ModelImporter importer = profile.equals("xgboost") ? new XGBoostImporter() : new LightGBMImporter();
            RankingExpression model =
                    importer.importModel("model", arguments[0]).expressions().values().iterator().next();
            rows.forEach(row -> print(model, context(row)));
            return;
        }
        ApplicationBuilder built = ApplicationBuilder.createFromString(Files.readString(Path.of(arguments[0])));
        RankProfile found = built.getRankProfileRegistry().get(built.getSchema(), profile);
        if (found.getGlobalPhaseRanking() == null) {
            rows.forEach(row -> print(found.getSecondPhaseRanking(), context(row)));
            return;
        }
        for (JsonNode hits : rows) {
            fuse(found, hits);
        }
    }

    private static MapContext context(JsonNode row) {
        MapContext context = new MapContext();
        row.fields().forEachRemaining(entry -> context.put(entry.getKey(), value(entry.getValue())));
        return context;
    }

    private static Value value(JsonNode given) {
        return given.isTextual() ? new StringValue(given.asText()) : new DoubleValue(given.asDouble());
    }

    private static void print(RankingExpression expression, MapContext context) {
        System.out.println(expression.evaluate(context).asDouble());
    }

    /** The global phase over all hits of a query, with the functions of the profile and Vespa's normaliser of ranks. */
    private static void fuse(RankProfile profile, JsonNode hits) throws Exception {
        List<MapContext> contexts = new ArrayList<>();
        for (JsonNode hit : hits) {
            MapContext context = context(hit);
            for (Map.Entry<String, RankProfile.RankingExpressionFunction> f : profile.getFunctions().entrySet()) {
                context.put(f.getKey(), f.getValue().function().getBody().evaluate(context));
            }
            contexts.add(context);
        }
        RankingExpression score = profile.getGlobalPhaseRanking();
        Matcher each = RANK.matcher(score.toString());
        while (each.find()) {
            double[] ranks = normalised(contexts, each.group(1), Double.parseDouble(each.group(2)));
            for (int i = 0; i < ranks.length; i++) {
                contexts.get(i).put("reciprocal_rank(" + each.group(1) + "," + each.group(2) + ")", ranks[i]);
            }
        }
        contexts.forEach(context -> print(score, context));
    }

    private static double[] normalised(List<MapContext> contexts, String function, double k) throws Exception {
        Class<?> of = Class.forName("com.yahoo.search.ranking.ReciprocalRankNormalizer");
        Constructor<?> maker = of.getDeclaredConstructor(int.class, double.class);
        Method add = of.getSuperclass().getDeclaredMethod("addInput", double.class);
        Method normalize = of.getDeclaredMethod("normalize");
        Method output = of.getSuperclass().getDeclaredMethod("getOutput", int.class);
        maker.setAccessible(true);
        for (Method method : List.of(add, normalize, output)) {
            method.setAccessible(true);
        }
        Object normalizer = maker.newInstance(contexts.size(), k);
        for (MapContext context : contexts) {
            add.invoke(normalizer, context.get(function).asDouble());
        }
        normalize.invoke(normalizer);
        double[] found = new double[contexts.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = (double) output.invoke(normalizer, i);
        }
        return found;
    }
}

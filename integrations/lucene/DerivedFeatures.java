import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.expressions.Bindings;
import org.apache.lucene.expressions.Expression;
import org.apache.lucene.expressions.js.JavascriptCompiler;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.search.DoubleValues;
import org.apache.lucene.search.DoubleValuesSource;
import org.apache.lucene.search.IndexSearcher;

/**
 * Scores the rows of a table of tabs by a feature set with derived features, compiled by Lucene, and weights, as the learning-to-rank plugin of Elasticsearch and OpenSearch does: a vector of
 * single precision, filled in the order of the set. The set is a table of tabs too: name, "" or expression, weight.
 */
public class DerivedFeatures {
  private static float[] vector;

  public static void main(String[] arguments) throws Exception {
    List<String[]> set = new ArrayList<>();
    Map<String, Integer> ordinals = new HashMap<>();
    for (String line : Files.readAllLines(Paths.get(arguments[0]))) {
      String[] feature = line.split("\t", -1);
      ordinals.put(feature[0], set.size());
      set.add(feature);
    }
    Expression[] derived = new Expression[set.size()];
    for (int i = 0; i < derived.length; i++) {
      derived[i] = set.get(i)[1].isEmpty() ? null : JavascriptCompiler.compile(set.get(i)[1]);
    }
    Bindings bindings =
        new Bindings() {
          @Override
          public DoubleValuesSource getDoubleValuesSource(String name) {
            return new OfVector(ordinals.get(name));
          }
        };
    List<String> rows = Files.readAllLines(Paths.get(arguments[1]));
    String[] columns = rows.get(0).split("\t", -1);
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    for (String row : rows.subList(1, rows.size())) {
      vector = new float[derived.length];
      String[] values = row.split("\t", -1);
      for (int j = 0; j < columns.length; j++) {
        vector[ordinals.get(columns[j])] = (float) Double.parseDouble(values[j]);
      }
      float score = 0;
      for (int i = 0; i < derived.length; i++) {
        if (derived[i] != null) {
          DoubleValues found = derived[i].getDoubleValuesSource(bindings).getValues(null, null);
          found.advanceExact(0);
          vector[i] = (float) found.doubleValue();
        }
        score += Float.parseFloat(set.get(i)[2]) * vector[i];
      }
      out.println(score);
    }
    out.flush();
  }

  /** A feature of the vector as it is now. */
  private static class OfVector extends DoubleValuesSource {
    private final int ordinal;

    OfVector(int ordinal) {
      this.ordinal = ordinal;
    }

    @Override
    public DoubleValues getValues(LeafReaderContext context, DoubleValues scores) {
      return new DoubleValues() {
        @Override
        public double doubleValue() {
          return vector[ordinal];
        }

        @Override
        public boolean advanceExact(int doc) {
          return true;
        }
      };
    }

    @Override
    public boolean needsScores() {
      return true;
    }

    @Override
    public DoubleValuesSource rewrite(IndexSearcher reader) {
      return this;
    }

    @Override
    public boolean isCacheable(LeafReaderContext context) {
      return false;
    }

    @Override
    public int hashCode() {
      return ordinal;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof OfVector && ((OfVector) other).ordinal == ordinal;
    }

    @Override
    public String toString() {
      return "feature " + ordinal;
    }
  }
}

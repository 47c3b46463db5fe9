import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoubleDocValuesField;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.queries.function.FunctionQuery;
import org.apache.lucene.queries.function.FunctionScoreQuery;
import org.apache.lucene.queries.function.FunctionValues;
import org.apache.lucene.queries.function.ValueSource;
import org.apache.lucene.queries.function.docvalues.DoubleDocValues;
import org.apache.lucene.queries.function.valuesource.ComparisonBoolFunction;
import org.apache.lucene.queries.function.valuesource.DefFunction;
import org.apache.lucene.queries.function.valuesource.DivFloatFunction;
import org.apache.lucene.queries.function.valuesource.DoubleConstValueSource;
import org.apache.lucene.queries.function.valuesource.DoubleFieldSource;
import org.apache.lucene.queries.function.valuesource.DualFloatFunction;
import org.apache.lucene.queries.function.valuesource.IfFunction;
import org.apache.lucene.queries.function.valuesource.MaxFloatFunction;
import org.apache.lucene.queries.function.valuesource.MinFloatFunction;
import org.apache.lucene.queries.function.valuesource.ProductFloatFunction;
import org.apache.lucene.queries.function.valuesource.QueryValueSource;
import org.apache.lucene.queries.function.valuesource.SumFloatFunction;
import org.apache.lucene.search.DocValuesFieldExistsQuery;
import org.apache.lucene.search.DoubleValuesSource;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.store.ByteBuffersDirectory;

/**
 * Scores of function queries, one a line, over an index of the rows of a table of tabs ("" where a document has no value): a line of tabs for each document. What the functions compute is
 * Lucene's; their words are Solr's, and {!field f=NAME}... is a query whose score is that column.
 */
public class SolrFunctions {
  public static void main(String[] arguments) throws Exception {
    List<String> lines = Files.readAllLines(Paths.get(arguments[1]));
    String[] names = lines.get(0).split("\t", -1);
    ByteBuffersDirectory folder = new ByteBuffersDirectory();
    try (IndexWriter writer = new IndexWriter(folder, new IndexWriterConfig())) {
      for (int row = 1; row < lines.size(); row++) {
        Document document = new Document();
        document.add(new NumericDocValuesField("row", row));
        String[] values = lines.get(row).split("\t", -1);
        for (int j = 0; j < names.length; j++) {
          if (!values[j].isEmpty()) {
            document.add(new DoubleDocValuesField(names[j], Double.parseDouble(values[j])));
          }
        }
        writer.addDocument(document);
      }
    }
    try (DirectoryReader reader = DirectoryReader.open(folder)) {
      IndexSearcher searcher = new IndexSearcher(reader);
      List<ScoreDoc[]> found = new ArrayList<>();
      for (String text : Files.readAllLines(Paths.get(arguments[0]))) {
        Sort byRow = new Sort(new SortField("row", SortField.Type.LONG));
        found.add(searcher.search(new Reader(text).query(), reader.maxDoc(), byRow, true).scoreDocs);
      }
      for (int row = 0; row < reader.maxDoc(); row++) {
        StringBuilder line = new StringBuilder();
        for (ScoreDoc[] hits : found) {
          line.append(line.length() == 0 ? "" : "\t").append(hits[row].score);
        }
        System.out.println(line);
      }
    }
  }

  private static class Reader {
    private final String text;
    private final Map<String, String> local = new HashMap<>();
    private int at = 0;

    Reader(String text) {
      this.text = text;
    }

    Query query() {
      if (text.startsWith("{!field f=")) {
        String name = text.substring("{!field f=".length(), text.indexOf('}'));
        return new FunctionScoreQuery(new DocValuesFieldExistsQuery(name), DoubleValuesSource.fromDoubleField(name));
      }
      expect("{!func");
      while (text.charAt(at) != '}') {
        expect(" ");
        String name = word();
        expect("=");
        local.put(name, quoted());
      }
      expect("}");
      ValueSource function = function();
      if (at < text.length()) {
        throw new IllegalArgumentException("text after the function: " + text.substring(at));
      }
      return new FunctionQuery(function);
    }

    private ValueSource function() {
      char ahead = text.charAt(at);
      if (Character.isDigit(ahead) || "+-.".indexOf(ahead) >= 0) {
        return new DoubleConstValueSource(number());
      }
      String name = word();
      expect("(");
      if (name.equals("field")) {
        String field = text.charAt(at) == '"' ? quoted() : word();
        expect(")");
        return new DoubleFieldSource(field);
      }
      if (name.equals("query")) {
        expect("$");
        Query query = new Reader(local.get(word())).query();
        expect(",");
        ValueSource found = new QueryValueSource(query, (float) number());
        expect(")");
        return found;
      }
      List<ValueSource> given = new ArrayList<>();
      given.add(function());
      while (text.charAt(at) == ',') {
        expect(",");
        given.add(function());
      }
      expect(")");
      return of(name, given.toArray(new ValueSource[0]));
    }

    private static ValueSource of(String name, ValueSource[] given) {
      switch (name) {
        case "sum":
          return new SumFloatFunction(given);
        case "product":
          return new ProductFloatFunction(given);
        case "div":
          return new DivFloatFunction(given[0], given[1]);
        case "max":
          return new MaxFloatFunction(given);
        case "min":
          return new MinFloatFunction(given);
        case "def":
          return new DefFunction(List.of(given));
        case "if":
          return new IfFunction(given[0], given[1], given[2]);
        case "sub":
          return new DualFloatFunction(given[0], given[1]) {
            @Override
            protected String name() {
              return "sub";
            }

            @Override
            protected float func(int doc, FunctionValues a, FunctionValues b) throws IOException {
              return a.floatVal(doc) - b.floatVal(doc);
            }
          };
        case "lt":
          return new ComparisonBoolFunction(given[0], given[1], "lt") {
            @Override
            public boolean compare(int doc, FunctionValues a, FunctionValues b) throws IOException {
              return a.floatVal(doc) < b.floatVal(doc);
            }
          };
        case "ln":
        case "hypot":
          return new OfDoubles(name, given);
        default:
          throw new IllegalArgumentException("Solr has no function " + name);
      }
    }

    private double number() {
      int start = at;
      while (at < text.length() && "0123456789.eE+-".indexOf(text.charAt(at)) >= 0) {
        at++;
      }
      return Double.parseDouble(text.substring(start, at));
    }

    private String word() {
      int start = at;
      while (at < text.length() && (Character.isJavaIdentifierPart(text.charAt(at)))) {
        at++;
      }
      return text.substring(start, at);
    }

    private String quoted() {
      StringBuilder out = new StringBuilder();
      expect("\"");
      for (; text.charAt(at) != '"'; at++) {
        at += text.charAt(at) == '\\' ? 1 : 0;
        out.append(text.charAt(at));
      }
      expect("\"");
      return out.toString();
    }

    private void expect(String what) {
      if (!text.startsWith(what, at)) {
        throw new IllegalArgumentException("expected " + what + " in " + text.substring(at));
      }
      at += what.length();
    }
  }

  /** Functions that Solr computes in double precision. */
  private static class OfDoubles extends ValueSource {
    private final String name;
    private final ValueSource[] given;

    OfDoubles(String name, ValueSource[] given) {
      this.name = name;
      this.given = given;
    }

    @Override
    @SuppressWarnings("rawtypes")
    public FunctionValues getValues(Map context, LeafReaderContext leaf) throws IOException {
      FunctionValues a = given[0].getValues(context, leaf);
      FunctionValues b = given[given.length - 1].getValues(context, leaf);
      return new DoubleDocValues(this) {
        @Override
        public double doubleVal(int doc) throws IOException {
          return name.equals("ln") ? Math.log(a.doubleVal(doc)) : Math.hypot(a.doubleVal(doc), b.doubleVal(doc));
        }

        @Override
        public boolean exists(int doc) throws IOException {
          return a.exists(doc) && b.exists(doc);
        }
      };
    }

    @Override
    @SuppressWarnings("rawtypes")
    public void createWeight(Map context, IndexSearcher searcher) throws IOException {
      for (ValueSource one : given) {
        one.createWeight(context, searcher);
      }
    }

    @Override
    public String description() {
      return name;
    }

    @Override
    public int hashCode() {
      return name.hashCode();
    }

    @Override
    public boolean equals(Object other) {
      return this == other;
    }
  }
}

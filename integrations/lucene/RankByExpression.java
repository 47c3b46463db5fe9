import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.List;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoubleDocValuesField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.expressions.Expression;
import org.apache.lucene.expressions.SimpleBindings;
import org.apache.lucene.expressions.js.JavascriptCompiler;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.queries.function.FunctionScoreQuery;
import org.apache.lucene.search.DoubleValuesSource;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.store.ByteBuffersDirectory;

/** Indexes the documents of a table of tabs, ranks all of them by an expression over its columns, prints "row score" in that order. */
public class RankByExpression {
  public static void main(String[] arguments) throws Exception {
    String text = new String(Files.readAllBytes(Paths.get(arguments[0])), "UTF-8");
    List<String> lines = Files.readAllLines(Paths.get(arguments[1]));
    String[] names = lines.get(0).split("\t");
    ByteBuffersDirectory folder = new ByteBuffersDirectory();
    try (IndexWriter writer = new IndexWriter(folder, new IndexWriterConfig())) {
      for (int row = 0; row + 1 < lines.size(); row++) {
        Document document = new Document();
        document.add(new StoredField("row", row));
        String[] values = lines.get(row + 1).split("\t", -1);
        for (int j = 0; j < names.length; j++) {
          if (!values[j].isEmpty()) { // otherwise the document does not have this field
            document.add(new DoubleDocValuesField(names[j], Double.parseDouble(values[j])));
          }
        }
        writer.addDocument(document);
      }
    }
    Expression expression = JavascriptCompiler.compile(text);
    SimpleBindings bindings = new SimpleBindings();
    for (String name : names) {
      bindings.add(name, DoubleValuesSource.fromDoubleField(name));
    }
    try (DirectoryReader reader = DirectoryReader.open(folder)) {
      IndexSearcher searcher = new IndexSearcher(reader);
      FunctionScoreQuery query =
          new FunctionScoreQuery(new MatchAllDocsQuery(), expression.getDoubleValuesSource(bindings));
      for (ScoreDoc hit : searcher.search(query, reader.maxDoc()).scoreDocs) {
        System.out.println(searcher.storedFields().document(hit.doc).getField("row").numericValue() + " " + hit.score);
      }
    }
  }
}

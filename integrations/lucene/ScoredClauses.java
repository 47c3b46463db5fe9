import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.ReaderUtil;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.ScoreMode;
import org.apache.lucene.search.Scorer;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

/**
 * Indexes documents (id, then its fields, separated by tabs; the first line names the fields), runs a request for each query
 * (id, tab, words) and prints "query document score name=score ..." of each hit, as Elasticsearch lists named clauses: with
 * their own boost, without those around them. The request is a tree, one node per line, children before parents:
 * "match NAME FIELD BOOST" (NAME - has no name), "bool BOOST LEAST OCCUR...", which takes as many nodes as it names.
 */
public class ScoredClauses {
  public static void main(String[] arguments) throws Exception {
    List<String> documents = Files.readAllLines(Paths.get(arguments[0]));
    List<String> request = Files.readAllLines(Paths.get(arguments[1]));
    String[] fields = documents.get(0).split("\t");
    ByteBuffersDirectory folder = new ByteBuffersDirectory();
    try (IndexWriter writer = new IndexWriter(folder, new IndexWriterConfig())) {
      for (String line : documents.subList(1, documents.size())) {
        String[] values = line.split("\t", -1);
        Document document = new Document();
        document.add(new StringField(fields[0], values[0], Field.Store.YES));
        for (int j = 1; j < fields.length; j++) {
          document.add(new TextField(fields[j], values[j], Field.Store.NO));
        }
        writer.addDocument(document);
      }
    }
    try (DirectoryReader reader = DirectoryReader.open(folder)) {
      IndexSearcher searcher = new IndexSearcher(reader);
      for (String line : Files.readAllLines(Paths.get(arguments[2]))) {
        String[] query = line.split("\t");
        Map<String, Query> named = new LinkedHashMap<>();
        Query whole = built(request, query[1].split(" "), named);
        for (ScoreDoc hit : searcher.search(whole, reader.maxDoc()).scoreDocs) {
          StringBuilder out = new StringBuilder(query[0] + " " + searcher.doc(hit.doc).get(fields[0]) + " " + hit.score);
          for (Map.Entry<String, Query> clause : named.entrySet()) {
            Float score = score(searcher, clause.getValue(), hit.doc);
            if (score != null) {
              out.append(" " + clause.getKey() + "=" + score);
            }
          }
          System.out.println(out);
        }
      }
    }
  }

  private static Query built(List<String> request, String[] words, Map<String, Query> named) {
    List<Query> waiting = new ArrayList<>();
    for (String line : request) {
      String[] node = line.split(" ");
      BooleanQuery.Builder builder = new BooleanQuery.Builder();
      float boost = Float.parseFloat(node[0].equals("match") ? node[3] : node[1]);
      if (node[0].equals("match")) {
        for (String word : words) {
          builder.add(new TermQuery(new Term(node[2], word)), Occur.SHOULD);
        }
      } else {
        String[] occurs = Arrays.copyOfRange(node, 3, node.length);
        List<Query> children = waiting.subList(waiting.size() - occurs.length, waiting.size());
        for (int i = 0; i < occurs.length; i++) {
          builder.add(children.get(i), Occur.valueOf(occurs[i]));
        }
        children.clear();
        builder.setMinimumNumberShouldMatch(Integer.parseInt(node[2]));
      }
      Query query = new BoostQuery(builder.build(), boost);
      if (node[0].equals("match") && !node[1].equals("-")) {
        named.put(node[1], query);
      }
      waiting.add(query);
    }
    return waiting.get(0);
  }

  /** The score of a query for a document alone, null if it does not match. */
  private static Float score(IndexSearcher searcher, Query query, int document) throws Exception {
    List<LeafReaderContext> leaves = searcher.getIndexReader().leaves();
    LeafReaderContext leaf = leaves.get(ReaderUtil.subIndex(document, leaves));
    Scorer scorer = searcher.createWeight(searcher.rewrite(query), ScoreMode.COMPLETE, 1f).scorer(leaf);
    int wanted = document - leaf.docBase;
    return scorer != null && scorer.iterator().advance(wanted) == wanted ? scorer.score() : null;
  }
}

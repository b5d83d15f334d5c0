// SPDX-License-Identifier: Apache-2.0
// Prints as JSON lines what VisualVM's heap library reads in a Java heap dump:
// classes with their static fields, objects with their references and retained
// sizes, roots, threads. Usage: HprofReader FILE
import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
import java.util.StringJoiner;
import org.graalvm.visualvm.lib.jfluid.heap.FieldValue;
import org.graalvm.visualvm.lib.jfluid.heap.GCRoot;
import org.graalvm.visualvm.lib.jfluid.heap.Heap;
import org.graalvm.visualvm.lib.jfluid.heap.HeapFactory;
import org.graalvm.visualvm.lib.jfluid.heap.Instance;
import org.graalvm.visualvm.lib.jfluid.heap.JavaClass;
import org.graalvm.visualvm.lib.jfluid.heap.JavaFrameGCRoot;
import org.graalvm.visualvm.lib.jfluid.heap.ObjectArrayInstance;
import org.graalvm.visualvm.lib.jfluid.heap.ObjectFieldValue;
import org.graalvm.visualvm.lib.jfluid.heap.PrimitiveArrayInstance;
import org.graalvm.visualvm.lib.jfluid.heap.ThreadObjectGCRoot;

public class HprofReader {
    private final PrintWriter out;

    private HprofReader(PrintWriter out) {
        this.out = out;
    }

    private static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                quoted.append('\\');
            }
            quoted.append(c < ' ' ? '?' : c);
        }
        return quoted.append('"').toString();
    }

    private static long idOf(Instance instance) {
        return instance == null ? 0 : instance.getInstanceId();
    }

    private static String references(List<FieldValue> values) {
        StringJoiner found = new StringJoiner(", ", "[", "]");
        for (FieldValue value : values) {
            if (value instanceof ObjectFieldValue) {
                Instance to = ((ObjectFieldValue) value).getInstance();
                if (to != null) {
                    found.add("[" + quote(value.getField().getName()) + ", " + idOf(to) + "]");
                }
            }
        }
        return found.toString();
    }

    private static String elements(ObjectArrayInstance array) {
        StringJoiner found = new StringJoiner(", ", "[", "]");
        int index = 0;
        for (Instance to : array.getValues()) {
            if (to != null) {
                found.add("[" + index + ", " + idOf(to) + "]");
            }
            index++;
        }
        return found.toString();
    }

    private void printClass(JavaClass type) {
        out.printf(
                "{\"class\": %s, \"id\": %d, \"instances\": %d, \"bytes\": %d, \"super\": %s,"
                        + " \"statics\": %s}%n",
                quote(type.getName()),
                type.getJavaClassId(),
                type.getInstancesCount(),
                type.getAllInstancesSize(),
                type.getSuperClass() == null ? "null" : quote(type.getSuperClass().getName()),
                references(type.getStaticFieldValues()));
    }

    private void printObject(Instance object) {
        boolean isArray = object instanceof ObjectArrayInstance;
        int length = -1;
        if (isArray) {
            length = ((ObjectArrayInstance) object).getLength();
        } else if (object instanceof PrimitiveArrayInstance) {
            length = ((PrimitiveArrayInstance) object).getLength();
        }
        out.printf(
                "{\"object\": %d, \"type\": %s, \"bytes\": %d, \"retained\": %d, \"length\": %d,"
                        + " \"references\": %s}%n",
                object.getInstanceId(),
                quote(object.getJavaClass().getName()),
                object.getSize(),
                object.getRetainedSize(),
                length,
                isArray
                        ? elements((ObjectArrayInstance) object)
                        : references(object.getFieldValues()));
    }

    private static String textOf(Object string) {
        Object value = ((Instance) string).getValueOfField("value");
        return String.join("", ((PrimitiveArrayInstance) value).getValues());
    }

    private static String frames(ThreadObjectGCRoot thread) {
        StringJoiner found = new StringJoiner(", ", "[", "]");
        for (StackTraceElement frame : thread.getStackTrace()) {
            found.add(
                    String.format(
                            "[%s, %s, %s, %d]",
                            quote(frame.getClassName()),
                            quote(frame.getMethodName()),
                            quote(frame.getFileName()),
                            frame.getLineNumber()));
        }
        return found.toString();
    }

    private void printRoot(GCRoot root) {
        Instance object = root.getInstance();
        out.printf("{\"root\": %s, \"to\": %d", quote(root.getKind()), idOf(object));
        if (root instanceof JavaFrameGCRoot) {
            JavaFrameGCRoot local = (JavaFrameGCRoot) root;
            out.printf(
                    ", \"thread\": %d, \"frame\": %d",
                    idOf(local.getThreadGCRoot().getInstance()), local.getFrameNumber());
        }
        if (root instanceof ThreadObjectGCRoot) {
            out.printf(
                    ", \"name\": %s, \"goid\": %s, \"frames\": %s",
                    quote(textOf(object.getValueOfField("name"))),
                    object.getValueOfField("tid"),
                    frames((ThreadObjectGCRoot) root));
        }
        out.println("}");
    }

    private void print(Heap heap) {
        for (JavaClass type : heap.getAllClasses()) {
            printClass(type);
        }
        Iterator<Instance> objects = heap.getAllInstancesIterator();
        while (objects.hasNext()) {
            printObject(objects.next());
        }
        for (GCRoot root : heap.getGCRoots()) {
            printRoot(root);
        }
    }

    public static void main(String[] args) throws IOException {
        PrintWriter out =
                new PrintWriter(
                        new BufferedWriter(
                                new OutputStreamWriter(System.out, StandardCharsets.UTF_8)));
        new HprofReader(out).print(HeapFactory.createHeap(new File(args[0])));
        out.flush();
    }
}

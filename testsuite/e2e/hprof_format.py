# SPDX-License-Identifier: Apache-2.0
"""Holds a Java heap dump against the text of its format, to the byte: each
record has its length, each number that is used was defined before (or, among
objects and classes, is defined anywhere), and nothing is defined twice.

The format is that of the JDK's hprof agent (its manual, "HPROF Binary Format"),
as Eclipse MAT and VisualVM read it."""

import struct
from collections import Counter

ID = 8
UTF8, LOAD_CLASS, FRAME, TRACE, SEGMENT, END = 1, 2, 4, 5, 0x1C, 0x2C
CLASS, INSTANCE, OBJECTS, PRIMITIVES = 0x20, 0x21, 0x22, 0x23
# Fields behind the object's number: thread and frame, or thread and trace.
ROOTS = {
    0xFF: ("unknown", ""),
    0x01: ("JNI global", "Q"),
    0x02: ("JNI local", "II"),
    0x03: ("Java frame", "II"),
    0x05: ("sticky class", ""),
    0x07: ("monitor used", ""),
    0x08: ("thread object", "II"),
}
OBJECT = 2
TYPES = {2: ID, 4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
NO_LINE = 0xFFFFFFFF
# Eclipse MAT looks these up by name.
DEMANDED = {
    "java/lang/Object", "java/lang/Class", "java/lang/ClassLoader",
    "java/lang/Thread", "java/lang/String", "java/lang/ref/Reference",
    "java/lang/ref/SoftReference", "java/lang/ref/WeakReference",
    "java/lang/ref/PhantomReference", "[Ljava/lang/Object;",
    "[Z", "[C", "[F", "[D", "[B", "[S", "[I", "[J",
}  # fmt: skip


class Reader:
    """Numbers of the file, the most significant byte first."""

    def __init__(self, data, at, end):
        self.data, self.at, self.end = data, at, end

    def take(self, form):
        size = struct.calcsize(f">{form}")
        assert self.at + size <= self.end, f"torn at {self.at:#x}"
        found = struct.unpack_from(f">{form}", self.data, self.at)
        self.at += size
        return found[0] if len(found) == 1 else found

    def skip(self, count):
        assert self.at + count <= self.end, f"torn at {self.at:#x}"
        self.at += count


def define(table, key, value, what):
    assert key and key not in table, f"{what} {key:#x} is there twice"
    table[key] = value


class Dump:
    """strings, classes (names by number), frames, traces, threads, layouts of
    classes, objects (their class or primitive type), roots (kind, object,
    thread, frame)."""

    def __init__(self, path):
        self.data = path.read_bytes()
        self.strings, self.names, self.serials = {}, {}, {}
        self.frames, self.traces = {}, {}
        self.layouts, self.objects, self.used = {}, {}, set()
        self.threads, self.roots = {}, []
        self.instances = []  # of a class, and where their fields are
        self.records()
        self.check_classes()
        self.check_instances()
        self.check_numbers()
        self.check_roots()

    # ---------------------------------------------------------- the records

    def records(self):
        magic = b"JAVA PROFILE 1.0.2\0"
        assert self.data.startswith(magic)
        reader = Reader(self.data, len(magic), len(self.data))
        assert reader.take("I") == ID and reader.take("Q") > 1 << 40
        parts = {UTF8: self.utf8, LOAD_CLASS: self.load_class,
                 FRAME: self.frame, TRACE: self.trace,
                 SEGMENT: self.segment}  # fmt: skip
        seen = []
        while reader.at < reader.end:
            tag, _time, length = reader.take("BII")
            record = Reader(self.data, reader.at, reader.at + length)
            reader.skip(length)
            seen.append(tag)
            if tag == END:
                assert length == 0 and reader.at == reader.end
                break
            parts[tag](record)
            assert record.at == record.end, f"{tag:#x} is too long"
        # Segments are the last and stand together.
        assert seen[-1] == END
        assert set(seen[seen.index(SEGMENT) : -1]) == {SEGMENT}

    def utf8(self, reader):
        key = reader.take("Q")
        text = self.data[reader.at : reader.end].decode("utf-8")
        reader.skip(reader.end - reader.at)
        define(self.strings, key, text, "text")

    def load_class(self, reader):
        serial, key, trace, name = reader.take("IQIQ")
        define(self.serials, serial, key, "class serial")
        define(self.names, key, self.strings[name], "class")
        self.used.add(trace)

    def frame(self, reader):
        key, method, signature, file, serial, line = reader.take("QQQQII")
        texts = [self.strings[t] for t in (method, signature, file)]
        assert line == NO_LINE or 0 < line < 1 << 31
        assert serial in self.serials
        define(self.frames, key, (*texts, line), "frame")

    def trace(self, reader):
        serial, thread, count = reader.take("III")
        ids = [reader.take("Q") for _ in range(count)]
        assert all(key in self.frames for key in ids)
        define(self.traces, serial, (thread, ids), "trace")

    # ------------------------------------------------- records of a segment

    def segment(self, reader):
        parts = {CLASS: self.dump_class, INSTANCE: self.instance,
                 OBJECTS: self.array, PRIMITIVES: self.primitives}  # fmt: skip
        while reader.at < reader.end:
            tag = reader.take("B")
            if tag in ROOTS:
                kind, fields = ROOTS[tag]
                key = reader.take("Q")
                more = reader.take(fields) if fields else None
                self.roots.append((kind, key, more))
            else:
                parts[tag](reader)

    def value(self, reader, kind):
        if kind == OBJECT:
            return reader.take("Q")
        reader.skip(TYPES[kind])
        return 0

    def dump_class(self, reader):
        key, trace, above = reader.take("QIQ")
        others = [reader.take("Q") for _ in range(5)]
        assert others == [0] * 5  # the boot loader's, without signers
        size, constants, nstatics = reader.take("IHH")
        assert constants == 0 and nstatics < 1 << 15
        statics = []
        for _ in range(nstatics):
            name, kind = reader.take("QB")
            statics.append((self.strings[name], self.value(reader, kind)))
        fields = [reader.take("QB") for _ in range(reader.take("H"))]
        fields = [(self.strings[name], kind) for name, kind in fields]
        assert all(kind in TYPES for _, kind in fields)
        self.used.add(trace)
        define(self.layouts, key, (above, size, statics, fields), "class")

    def instance(self, reader):
        key, trace, class_, length = reader.take("QIQI")
        self.instances.append((class_, reader.at, length))
        reader.skip(length)
        self.used.add(trace)
        define(self.objects, key, class_, "object")

    def array(self, reader):
        key, trace, count, class_ = reader.take("QIIQ")
        self.instances.append((class_, reader.at, count * ID))
        reader.skip(count * ID)
        assert self.names[class_].startswith("[L") and count < 1 << 31
        self.used.add(trace)
        define(self.objects, key, class_, "object")

    def primitives(self, reader):
        key, trace, count, kind = reader.take("QIIB")
        assert kind != OBJECT and count < 1 << 31
        reader.skip(count * TYPES[kind])
        self.used.add(trace)
        define(self.objects, key, -kind, "object")

    # ------------------------------------------------ what leads to what

    def fields(self, class_):
        """Those of a class, then those of the classes above it."""
        found = []
        while class_:
            above, _, _, fields = self.layouts[class_]
            found += fields
            class_ = above
        return found

    def check_classes(self):
        assert DEMANDED <= set(self.names.values())
        assert set(self.layouts) == set(self.names)
        tops = [k for k, layout in self.layouts.items() if not layout[0]]
        assert [self.names[k] for k in tops] == ["java/lang/Object"]
        for key in self.layouts:
            seen = set()
            while key:
                assert key not in seen, "a class is above itself"
                seen.add(key)
                key = self.layouts[key][0]

    def references(self, class_, at, length):
        if self.names[class_].startswith("["):
            return struct.unpack_from(f">{length // ID}Q", self.data, at)
        fields = self.fields(class_)
        assert sum(TYPES[kind] for _, kind in fields) == length
        found = []
        for _, kind in fields:
            if kind == OBJECT:
                found += struct.unpack_from(">Q", self.data, at)
            at += TYPES[kind]
        return found

    def check_instances(self):
        known = {0, *self.objects, *self.names}
        for class_, at, length in self.instances:
            assert set(self.references(class_, at, length)) <= known
        for _, _, statics, _ in self.layouts.values():
            assert {key for _, key in statics} <= known

    def check_numbers(self):
        """Numbers of classes are none of objects. The trace of what was
        allocated nowhere has no frames."""
        assert not set(self.objects) & set(self.names)
        assert all(self.traces[t] == (0, []) for t in self.used)

    def check_roots(self):
        for kind, key, more in self.roots:
            if kind == "thread object":
                serial, trace = more
                define(self.threads, serial, trace, "thread")
                assert self.traces[trace][0] == serial
                assert self.names[self.objects[key]] == "java/lang/Thread"
        for kind, key, more in self.roots:
            table = self.names if kind == "sticky class" else self.objects
            assert key in table, f"{kind} leads to {key:#x}"
            if kind in ("JNI local", "Java frame"):
                thread, frame = more
                depth = len(self.traces[self.threads[thread]][1])
                assert frame == NO_LINE or frame < depth
        # Each trace is that of a thread, but for the one without frames.
        threads = {thread for thread, _ in self.traces.values()}
        assert threads == {0, *self.threads}
        sticky = [key for kind, key, _ in self.roots if kind == "sticky class"]
        assert sorted(sticky) == sorted(self.names)

    def call(self, thread, frame):
        """The method of a frame of a thread."""
        frames = self.traces[self.threads[thread]][1]
        return None if frame == NO_LINE else self.frames[frames[frame]][0]

    def kinds(self):
        return Counter(kind for kind, _, _ in self.roots)

    def rooted(self, kind):
        """The objects that roots of a kind hold."""
        return {key for found, key, _ in self.roots if found == kind}

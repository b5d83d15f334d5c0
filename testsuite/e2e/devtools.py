# SPDX-License-Identifier: Apache-2.0
"""The nodes that Chrome's DevTools read in a snapshot of V8: the loader of
their panel Memory, in a headless Chromium."""

import json

import browser

PAGE = "devtools://devtools/bundled/devtools_app.html"

# The first argument is a field for a file, with the snapshot. The second half of
# the loader computes the retained sizes, and answers through a port.
READ = """
const [field, done] = arguments;
const rows = (heap) => {
  const found = [];
  for (let at = heap.allNodes(); at.hasNext(); at.next()) {
    const node = at.item(), edges = [];
    for (let to = node.edges(); to.hasNext(); to.next()) {
      const edge = to.item();
      edges.push([edge.type(), edge.name(), edge.node().id()]);
    }
    found.push({id: node.id(), name: node.rawName(), bytes: node.selfSize(),
                retained: node.retainedSize(), edges});
  }
  return JSON.stringify(found);
};
const read = async () => {
  const {HeapSnapshot, HeapSnapshotLoader} = await import(
    "./entrypoints/heap_snapshot_worker/heap_snapshot_worker.js");
  const {port1, port2} = new MessageChannel();
  new HeapSnapshot.SecondaryInitManager(port2);
  const loader = new HeapSnapshotLoader.HeapSnapshotLoader(
    {sendEvent: () => {}});
  loader.write(await field.files[0].text());
  loader.close();
  return rows(await loader.buildSnapshot(port1));
};
read().then(done, (error) => done(String(error.stack)));
"""


class DevTools:
    """A browser with their page; end() ends it."""

    def __init__(self):
        self.driver = browser.start()
        self.driver.set_script_timeout(300)

    def read(self, path):
        """The nodes, in their order."""
        self.driver.get(PAGE)
        field = self.driver.execute_script(
            "const field = document.createElement('input');"
            "field.type = 'file';"
            "return document.body.appendChild(field);"
        )
        field.send_keys(str(path))
        told = self.driver.execute_async_script(READ, field)
        assert told.startswith("["), told
        return json.loads(told)

    def end(self):
        self.driver.quit()

// SPDX-License-Identifier: Apache-2.0
// Prints as JSON lines what memlab reads in a snapshot of V8: nodes with their
// retained sizes and edges. Usage: read.js FILE
const {analysis, config, utils} = require('@memlab/core');

config.muteConsole = true;

function row(node) {
  const edges = [];
  for (const edge of node.references) {
    edges.push([edge.type, edge.name_or_index, edge.toNode.id]);
  }
  return {
    id: node.id,
    type: node.type,
    name: node.name,
    bytes: node.self_size,
    retained: node.retainedSize,
    edges,
  };
}

async function main(path) {
  const snapshot = await utils.getSnapshotFromFile(path, {
    buildNodeIdIndex: true,
  });
  analysis.preparePathFinder(snapshot);
  const lines = [];
  snapshot.nodes.forEach(node => {
    lines.push(JSON.stringify(row(node)));
  });
  process.stdout.write(lines.join('\n') + '\n');
}

main(process.argv[2]);

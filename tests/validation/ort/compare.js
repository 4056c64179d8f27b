// compare.js DIR...: runs every piece that qdq_nodes wrote in onnxruntime (graph optimisation off), each fed with our
// own inputs, and compares int8 outputs: at most 1 apart, at least 99.9 % of a directory's elements equal.
'use strict';
const fs = require('fs');
const path = require('path');
const ort = require(path.join(process.env.ORT_MODULES, 'onnxruntime-node'));

function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const length = bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, 10 + length);
  if (!header.includes("'|i1'")) throw new Error(`${file}: expected int8`);
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(',').filter((s) => s.trim()).map(Number);
  const data = new Int8Array(bytes.buffer, bytes.byteOffset + 10 + length, bytes.length - 10 - length);
  return new ort.Tensor('int8', Int8Array.from(data), shape);
}

async function compareDirectory(dir) {
  let elements = 0, different = 0, worst = 0, nodes = 0;
  for (const piece of JSON.parse(fs.readFileSync(path.join(dir, 'manifest.json')))) {
    const session = await ort.InferenceSession.create(path.join(dir, piece.model),
        {graphOptimizationLevel: 'disabled', intraOpNumThreads: 1, logSeverityLevel: 3});
    const feeds = {};
    for (const input of piece.inputs) feeds[input.name] = readNpy(path.join(dir, input.file));
    const found = (await session.run(feeds))[piece.output.name];
    const ours = readNpy(path.join(dir, piece.output.file));
    if (String(found.dims) !== String(ours.dims)) throw new Error(`${piece.node}: shape ${found.dims}, ours ${ours.dims}`);
    let count = 0, most = 0;
    for (let i = 0; i < ours.data.length; ++i) {
      const apart = Math.abs(found.data[i] - ours.data[i]);
      if (apart !== 0) ++count;
      if (apart > most) most = apart;
    }
    if (count !== 0) console.log(`  ${piece.node} (${piece.op}): ${count} of ${ours.data.length} differ, at most by ${most}`);
    elements += ours.data.length;
    different += count;
    worst = Math.max(worst, most);
    ++nodes;
    await session.release();
  }
  const equal = 100 * (1 - different / elements);
  const good = nodes > 0 && worst <= 1 && equal >= 99.9;
  console.log(`${path.basename(dir)}: ${nodes} nodes, ${elements} elements, ${equal.toFixed(4)} % equal, at most ${worst} apart: ` +
      (good ? 'ok' : 'FAILED'));
  return good;
}

(async () => {
  let good = true;
  for (const dir of process.argv.slice(2)) good = (await compareDirectory(dir)) && good;
  process.exit(good ? 0 : 1);
})().catch((error) => {
  console.error(String(error));
  process.exit(1);
});

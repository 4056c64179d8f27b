// compare.js DIR...: runs every model that qdq_nodes or quantised_cases wrote in onnxruntime (graph optimisation off),
// each fed with our own inputs, and compares outputs in integer steps: at most 1 apart, at least 99.9 % of an operator's
// elements equal, in each directory. Prints a row an operator.
'use strict';
const fs = require('fs');
const path = require('path');
const ort = require(path.join(process.env.ORT_MODULES, 'onnxruntime-node'));

const kinds = {
  '|i1': ['int8', Int8Array], '|u1': ['uint8', Uint8Array], '<i4': ['int32', Int32Array], '<f4': ['float32', Float32Array],
  '<i8': ['int64', BigInt64Array],
};

function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const length = bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, 10 + length);
  const kind = kinds[header.match(/'descr': '([^']*)'/)[1]];
  if (!kind) throw new Error(`${file}: ${header}: a type that compare.js cannot read`);
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(',').filter((s) => s.trim()).map(Number);
  const data = new kind[1](Uint8Array.from(bytes.subarray(10 + length)).buffer);
  return new ort.Tensor(kind[0], data, shape);
}

async function compareDirectory(dir) {
  const rows = new Map();  // operator -> counts
  for (const piece of JSON.parse(fs.readFileSync(path.join(dir, 'manifest.json')))) {
    const session = await ort.InferenceSession.create(path.join(dir, piece.model),
        {graphOptimizationLevel: 'disabled', intraOpNumThreads: 1, logSeverityLevel: 3});
    const feeds = {};
    for (const input of piece.inputs) feeds[input.name] = readNpy(path.join(dir, input.file));
    const found = (await session.run(feeds))[piece.output.name];
    const ours = readNpy(path.join(dir, piece.output.file));
    if (String(found.dims) !== String(ours.dims)) throw new Error(`${piece.node}: shape ${found.dims}, ours ${ours.dims}`);
    if (found.type !== ours.type) throw new Error(`${piece.node}: type ${found.type}, ours ${ours.type}`);
    const step = piece.output.step || 1;  // of float outputs: the last DequantizeLinear's scale
    let count = 0, most = 0;
    for (let i = 0; i < ours.data.length; ++i) {
      const difference = Math.abs(Number(found.data[i]) - Number(ours.data[i])) / step;
      const apart = step === 1 ? difference : Math.round(difference);
      if (apart !== 0) ++count;
      if (!(apart <= most)) most = apart;  // also NaN
    }
    if (count !== 0) console.log(`  ${piece.node} (${piece.op}): ${count} of ${ours.data.length} differ, at most by ${most}`);
    const row = rows.get(piece.op) || {cases: 0, elements: 0, different: 0, worst: 0};
    rows.set(piece.op, row);
    ++row.cases;
    row.elements += ours.data.length;
    row.different += count;
    if (!(most <= row.worst)) row.worst = most;
    await session.release();
  }
  let good = rows.size > 0;
  for (const [op, row] of rows) {
    const equal = 100 * (1 - row.different / row.elements);
    const fine = row.worst <= 1 && equal >= 99.9;
    good = good && fine;
    console.log([path.basename(dir).padEnd(22), op.padEnd(26), String(row.cases).padStart(5), String(row.elements).padStart(8),
      `${equal.toFixed(4)} %`.padStart(11), `${row.worst}`.padStart(5), fine ? 'ok' : 'FAILED'].join('  '));
  }
  return good;
}

(async () => {
  let good = true;
  console.log([''.padEnd(22), 'operator'.padEnd(26), 'cases', 'elements'.padStart(8), 'equal'.padStart(11), 'apart'].join('  '));
  for (const dir of process.argv.slice(2)) good = (await compareDirectory(dir)) && good;
  console.log(good ? 'check_ort: all within 1, at least 99.9 % equal' : 'check_ort: FAILED');
  process.exit(good ? 0 : 1);
})().catch((error) => {
  console.error(String(error));
  process.exit(1);
});

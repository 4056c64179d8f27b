// compare.js [DIR...] [--each DIR...] [--whole DIR...]: runs every model that qdq_nodes or quantised_cases wrote in
// onnxruntime (graph optimisation off), each fed with our own inputs, and compares outputs in integer steps; a row an
// operator. At most 1 apart and at least 99.9 % of the elements equal: in a directory, with --each for every operator.
// With --whole the models are networks, in which single ties grow: then onnxruntime's own optimised run is the measure,
// and we must be no further from the plain run than it is.
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

async function run(piece, dir, level, feeds) {
  const session = await ort.InferenceSession.create(path.join(dir, piece.model),
      {graphOptimizationLevel: level, intraOpNumThreads: 1, logSeverityLevel: 3});
  const found = (await session.run(feeds))[piece.output.name];
  await session.release();
  return found;
}

/// Adds the differences of two tensors to the row; says which when `name` is given.
function count(row, a, b, step, name) {
  if (String(a.dims) !== String(b.dims)) throw new Error(`${name}: shape ${a.dims}, ours ${b.dims}`);
  if (a.type !== b.type) throw new Error(`${name}: type ${a.type}, ours ${b.type}`);
  let different = 0, most = 0;
  for (let i = 0; i < b.data.length; ++i) {
    const difference = Math.abs(Number(a.data[i]) - Number(b.data[i])) / step;
    const apart = step === 1 ? difference : Math.round(difference);
    if (apart !== 0) ++different;
    if (!(apart <= most)) most = apart;  // also NaN
  }
  if (different !== 0 && name) console.log(`  ${name}: ${different} of ${b.data.length} differ, at most by ${most}`);
  ++row.cases;
  row.elements += b.data.length;
  row.different += different;
  if (!(most <= row.worst)) row.worst = most;
}

const emptyRow = () => ({cases: 0, elements: 0, different: 0, worst: 0});
const equalShare = (row) => 100 * (1 - row.different / row.elements);
const close = (row) => row.worst <= 1 && equalShare(row) >= 99.9;

function print(dir, op, row, verdict) {
  console.log([path.basename(dir).padEnd(22), op.padEnd(26), String(row.cases).padStart(5), String(row.elements).padStart(8),
    `${equalShare(row).toFixed(4)} %`.padStart(11), `${row.worst}`.padStart(5), verdict].join('  '));
}

async function compareDirectory(dir, mode) {
  const rows = new Map();  // operator -> counts
  const all = emptyRow(), own = emptyRow();
  for (const piece of JSON.parse(fs.readFileSync(path.join(dir, 'manifest.json')))) {
    const feeds = {};
    for (const input of piece.inputs) feeds[input.name] = readNpy(path.join(dir, input.file));
    const step = piece.output.step || 1;  // of float outputs: the last DequantizeLinear's scale
    const ours = readNpy(path.join(dir, piece.output.file));
    const found = await run(piece, dir, 'disabled', feeds);
    if (!rows.has(piece.op)) rows.set(piece.op, emptyRow());
    count(rows.get(piece.op), found, ours, step, mode === 'whole' ? '' : `${piece.node} (${piece.op})`);
    count(all, found, ours, step, '');
    if (mode === 'whole') count(own, found, await run(piece, dir, 'all', feeds), step, '');
  }
  let good = all.cases > 0;
  for (const [op, row] of rows) {
    if (mode === 'each') good = good && close(row);
    print(dir, op, row, mode === 'each' ? (close(row) ? 'ok' : 'FAILED') : '');
  }
  if (mode === 'sum') good = good && close(all);
  if (mode === 'whole') {
    good = good && all.different <= own.different && all.worst <= own.worst;
    print(dir, 'onnxruntime, optimised', own, 'the measure');
  }
  if (mode !== 'each') print(dir, 'all', all, good ? 'ok' : 'FAILED');
  return good;
}

(async () => {
  let good = true, mode = 'sum';
  console.log([''.padEnd(22), 'operator'.padEnd(26), 'cases', 'elements'.padStart(8), 'equal'.padStart(11), 'apart'].join('  '));
  for (const argument of process.argv.slice(2)) {
    if (argument.startsWith('--')) {
      mode = argument.slice(2);
      if (!['each', 'whole', 'sum'].includes(mode)) throw new Error(`${argument}: expected --each, --whole or --sum`);
    } else {
      good = (await compareDirectory(argument, mode)) && good;
    }
  }
  console.log(good ? 'check_ort: ok' : 'check_ort: FAILED');
  process.exit(good ? 0 : 1);
})().catch((error) => {
  console.error(String(error));
  process.exit(1);
});

// Ends with one sentence and exit code 1 when this Node.js is older than package.json asks for. Old syntax only, so
// that the versions it refuses can run it.
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const needed = engines.node.replace('>=', '').split('.').map(Number);
const actual = process.versions.node.split('.').map(Number);
if (actual[0] < needed[0] || (actual[0] === needed[0] && actual[1] < needed[1])) {
  process.stderr.write(`Perkwire needs Node.js ${needed.join('.')} or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}

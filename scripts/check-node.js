// Exits with code 1 and an explanation if Node.js is older than package.json requires. Uses only old syntax, so that
// old versions can run this check.
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const required = engines.node.replace('>=', '').split('.').map(Number);
const actual = process.versions.node.split('.').map(Number);
if (actual[0] < required[0] || (actual[0] === required[0] && actual[1] < required[1])) {
  process.stderr.write(
    `Perkwire requires Node.js ${required.join('.')} or newer, but this is version ${process.versions.node}.\n`,
  );
  process.exit(1);
}

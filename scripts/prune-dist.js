// Runs after the compiler. Removes compiled files whose sources no longer exist, which would otherwise be packed.
import { existsSync, readdirSync, rmSync } from 'node:fs';

const outputs = [
  { from: 'src', to: 'dist', ignored: /^(sdk$|sdk\/|\.)/ },
  { from: 'packages/client/src', to: 'packages/client/dist', ignored: /^(\.|cjs($|\/))/ },
  { from: 'packages/client/src', to: 'packages/client/dist/cjs', ignored: /^package\.json$/ },
];
const compiled = /(\.d\.ts|\.js|\.js\.map)$/;

for (const { from, to, ignored } of outputs) {
  const [source, output] = [from, to].map((path) => new URL(`../${path}/`, import.meta.url));
  for (const name of readdirSync(output, { recursive: true })) {
    const path = name.replaceAll('\\', '/');
    const sources = [path, ...['.ts', '.tsx'].map((end) => path.replace(compiled, end))];
    if (!ignored.test(path) && !sources.some((file) => existsSync(new URL(file, source))))
      rmSync(new URL(path, output), { recursive: true, force: true });
  }
}

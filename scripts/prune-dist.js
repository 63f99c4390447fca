// After the compiler: removes what it once made of sources that are gone, which would be packed otherwise.
import { existsSync, readdirSync, rmSync } from 'node:fs';

const outputs = [
  { from: 'src', to: 'dist', others: /^(sdk$|sdk\/|\.)/ },
  { from: 'packages/client/src', to: 'packages/client/dist', others: /^(\.|cjs($|\/))/ },
  { from: 'packages/client/src', to: 'packages/client/dist/cjs', others: /^package\.json$/ },
];
const compiled = /(\.d\.ts|\.js|\.js\.map)$/;

for (const { from, to, others } of outputs) {
  const [source, output] = [from, to].map((path) => new URL(`../${path}/`, import.meta.url));
  for (const name of readdirSync(output, { recursive: true })) {
    const path = name.replaceAll('\\', '/');
    const sources = [path, ...['.ts', '.tsx'].map((end) => path.replace(compiled, end))];
    if (!others.test(path) && !sources.some((file) => existsSync(new URL(file, source))))
      rmSync(new URL(path, output), { recursive: true, force: true });
  }
}

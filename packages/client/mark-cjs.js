import { writeFileSync } from 'node:fs';

// Tells Node and TypeScript that the files of this folder are CommonJS, in a package of ES modules.
writeFileSync(new URL('dist/cjs/package.json', import.meta.url), '{ "type": "commonjs" }\n');

import { writeFileSync } from 'node:fs';

// Marks the files in dist/cjs as CommonJS for Node and TypeScript. The rest of the package consists of ES modules.
writeFileSync(new URL('dist/cjs/package.json', import.meta.url), '{ "type": "commonjs" }\n');

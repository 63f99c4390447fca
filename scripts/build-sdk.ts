import { build } from 'esbuild';

/** Browsers of the last three years. */
const target = ['chrome119', 'edge119', 'firefox119', 'safari17'];

/** Bundles the web SDK into dist/sdk/launcher.js. */
await build({
  absWorkingDir: new URL('..', import.meta.url).pathname,
  entryPoints: ['src/sdk/main.ts'],
  outfile: 'dist/sdk/launcher.js',
  tsconfig: 'src/sdk/tsconfig.json',
  bundle: true,
  format: 'iife',
  platform: 'browser',
  target,
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
});

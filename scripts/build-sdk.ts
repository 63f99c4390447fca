import { readFile } from 'node:fs/promises';
import { build, type Plugin, transform } from 'esbuild';

/** Browsers of the last three years. */
const target = ['chrome119', 'edge119', 'firefox119', 'safari17'];

/** An imported style sheet becomes its minified text. */
const cssText: Plugin = {
  name: 'css-text',
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path), { loader: 'css', minify: true });
      return { contents: code.trim(), loader: 'text' };
    });
  },
};

/**
 * Bundles the web SDK into dist/sdk/launcher.js; the script of the hosted offerwall and the conversion tag beside it.
 */
await build({
  absWorkingDir: new URL('..', import.meta.url).pathname,
  entryPoints: {
    launcher: 'src/browser/sdk/main.ts',
    offerwall: 'src/browser/sdk/wall/main.ts',
    conversion: 'src/browser/sdk/conversion/main.ts',
  },
  outdir: 'dist/sdk',
  tsconfig: 'src/browser/sdk/tsconfig.json',
  bundle: true,
  format: 'iife',
  platform: 'browser',
  target,
  plugins: [cssText],
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
});

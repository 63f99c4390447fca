import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { build, transform } from 'esbuild';
import { minify } from 'terser';

/** Browsers of the last three years. */
const target = ['chrome119', 'edge119', 'firefox119', 'safari17'];

const root = new URL('..', import.meta.url);
const unitCss = await readFile(new URL('src/browser/sdk/unit/unit.css', root));
const { code } = await transform(unitCss, { loader: 'css', minify: true });

/**
 * Bundles the web SDK into dist/sdk/launcher.js; the script of the hosted offerwall and the conversion tag beside it.
 */
const { outputFiles } = await build({
  absWorkingDir: root.pathname,
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
  define: {
    UNIT_CSS: JSON.stringify(code.trim()),
    // Replaced when a script is served (src/browser/serve/script.ts).
    PUBLIC_URL: JSON.stringify('%%PUBLIC_URL%%'),
  },
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
  write: false,
});

// What esbuild leaves shrinks by another 2 % compressed.
for (const { path, text } of outputFiles) {
  const { code: script = '' } = await minify(text, { ecma: 2020, compress: { passes: 2 } });
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, script);
}

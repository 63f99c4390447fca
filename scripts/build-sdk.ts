import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { build, transform } from 'esbuild';
import { minify } from 'terser';

/** Browsers of the last three years. */
const target = ['chrome119', 'edge119', 'firefox119', 'safari17'];

const root = new URL('..', import.meta.url);
const unitCss = await readFile(new URL('src/browser/sdk/unit/unit.css', root));
const { code } = await transform(unitCss, { loader: 'css', minify: true });

/**
 * Bundles the web SDK into dist/sdk/launcher.js, with its style sheet unit.css; the script of the hosted offerwall and
 * the conversion tag beside it.
 */
const { outputFiles } = await build({
  absWorkingDir: root.pathname,
  entryPoints: {
    launcher: 'src/browser/sdk/main.ts',
    offerwall: 'src/browser/sdk/wall/main.ts',
    perkswall: 'src/browser/sdk/wall/launcher.ts',
    conversion: 'src/browser/sdk/conversion/main.ts',
  },
  outdir: 'dist/sdk',
  tsconfig: 'src/browser/sdk/tsconfig.json',
  bundle: true,
  format: 'iife',
  platform: 'browser',
  target,
  define: {
    // Replaced when a script is served (src/browser/serve/script.ts).
    PUBLIC_URL: JSON.stringify('%%PUBLIC_URL%%'),
    UNIT_CSS_PATH: JSON.stringify('%%UNIT_CSS_PATH%%'),
  },
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
  write: false,
});

await mkdir(new URL('dist/sdk', root), { recursive: true });
await writeFile(new URL('dist/sdk/unit.css', root), code.trim());

// What esbuild leaves shrinks by another 2 % compressed.
for (const { path, text } of outputFiles) {
  const { code: script = '' } = await minify(text, { ecma: 2020, compress: { passes: 2 } });
  await writeFile(path, script);
}

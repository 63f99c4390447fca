// Writes the pages in assets/html as strings to src/templates.ts. Part of `npm run build`. A test fails if the file is
// outdated.
import { readFile, writeFile } from 'node:fs/promises';

const pages = ['checkout', 'prefetch'];

const constants = await Promise.all(
  pages.map(async (page) => {
    const text = await readFile(new URL(`../../assets/html/${page}.html`, import.meta.url), 'utf8');
    return `export const ${page}Template = \`${text.replace(/[\\`]|\$\{/g, '\\$&')}\`;\n`;
  }),
);
await writeFile(
  new URL('src/templates.ts', import.meta.url),
  `/** Generated from assets/html by make-templates.js: do not edit. */\n\n${constants.join('\n')}`,
);

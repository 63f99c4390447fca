import { createRequire } from 'node:module';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { immutable, loadStaticText, type StaticText, sendStaticText } from '../platform/http/static-text.ts';

const { resolve } = createRequire(import.meta.url);
const asset = (path: string): URL => new URL(`../../assets/${path}`, import.meta.url);
const own = (name: string): URL => asset(`dashboard/${name}`);

/** All files that the pages load. Libraries come from their packages. */
const files = {
  'tokens.css': asset('tokens.css'),
  'dashboard.css': own('dashboard.css'),
  'dashboard.js': own('dashboard.js'),
  'drafts.js': own('drafts.js'),
  'finder.js': own('finder.js'),
  'charts.js': own('charts.js'),
  'language.js': own('language.js'),
  'passkeys.js': own('passkeys.js'),
  'pickers.js': own('pickers.js'),
  'preview.js': own('preview.js'),
  'preview-frame.js': own('preview-frame.js'),
  'preview.css': own('preview.css'),
  'htmx.js': resolve('htmx.org/dist/htmx.min.js'),
  'uplot.js': resolve('uplot/dist/uPlot.iife.min.js'),
  'uplot.css': resolve('uplot/dist/uPlot.min.css'),
} as const;

export type AssetName = keyof typeof files;

/** URL of a file. It contains a hash of the content, so that browsers may cache it forever. */
export type AssetUrl = (name: AssetName) => string;

const types: Record<string, string> = { css: 'text/css', js: 'text/javascript' };

/** Registers the route of the files. */
export async function registerAssets(app: App): Promise<AssetUrl> {
  const contents = new Map<string, StaticText>();
  const urls = new Map<string, string>();
  for (const [name, file] of Object.entries(files)) {
    const content = await loadStaticText(file);
    if (content === null) throw new Error(`dashboard asset ${name} is missing`);
    const [stem, extension] = name.split('.');
    const hashed = `${stem}.${content.hash}.${extension}`;
    contents.set(hashed, content);
    urls.set(name, `/dashboard/assets/${hashed}`);
  }
  app.get<{ Params: { name: string } }>(
    '/dashboard/assets/:name',
    { schema: { hide: true } },
    async (request, reply) => {
      const content = contents.get(request.params.name);
      if (content === undefined) throw new AppError('not_found');
      return sendStaticText(request, reply, content, {
        type: types[request.params.name.split('.')[2] ?? ''] ?? 'text/plain',
        caching: immutable,
      });
    },
  );
  return (name) => urls.get(name) as string;
}

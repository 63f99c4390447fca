import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Type } from '@sinclair/typebox';
import { AppError } from '../../platform/errors.ts';
import {
  createStaticText,
  immutable,
  loadStaticText,
  type StaticText,
  sendStaticText,
} from '../../platform/http/static-text.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import type { App } from '../../platform/ports.ts';
import { allGuides, type Guide, guidesPath, picturesPath } from './guides.ts';
import { type GuideAssets, renderGuidePage } from './page.ts';
import type { Own, Rendered } from './render.ts';

const root = new URL('../../../', import.meta.url);

/** Styles, scripts and pictures are our own files only. */
const pageHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'same-origin',
  'x-robots-tag': 'noindex, nofollow',
};

/** With an ETag: asked for again, answered 304. */
const caching = 'no-cache';

/** The guides of docs/ as pages (docs/interface.md#guides), each rendered once, when it is first asked for. */
export async function guideRoutes(app: App, own: Own): Promise<void> {
  const assets = await registerAssets(app);
  const rendered = new Map<Guide, Promise<Rendered>>();
  const renderedOf = (guide: Guide): Promise<Rendered> => getOrInsert(rendered, guide, () => render(guide, own));
  const pages = new Map<Guide, Promise<StaticText>>();
  const makePage = async (guide: Guide): Promise<StaticText> =>
    createStaticText(renderGuidePage({ guide, rendered: await renderedOf(guide), assets, isDemo: own.isDemo }));
  let index: Promise<StaticText> | null = null;

  app.get(guidesPath, { schema: { hide: true } }, async (_request, reply) =>
    reply.redirect(`${guidesPath}/${allGuides[0]?.slug}`),
  );

  app.get(`${guidesPath}/search.json`, { schema: { hide: true } }, async (request, reply) => {
    index ??= searchIndex(renderedOf);
    return sendStaticText(request, reply, await index, { type: 'application/json', caching });
  });

  app.get(
    `${guidesPath}/:slug`,
    { schema: { hide: true, params: Type.Object({ slug: Type.String() }) } },
    async (request, reply) => {
      const guide = allGuides.find(({ slug }) => slug === request.params.slug);
      if (guide === undefined) throw new AppError('not_found');
      const page = await getOrInsert(pages, guide, () => makePage(guide));
      return sendStaticText(request, reply.headers(pageHeaders), page, { type: 'text/html', caching });
    },
  );
}

/** The libraries are loaded with the first page. */
async function render(guide: Guide, own: Own): Promise<Rendered> {
  const { renderMarkdown } = await import('./render.ts');
  return renderMarkdown(await readFile(new URL(guide.file, root), 'utf8'), guide.file, own);
}

/** A row for each heading: address, page, heading, text. */
async function searchIndex(renderedOf: (guide: Guide) => Promise<Rendered>): Promise<StaticText> {
  const rows: [string, string, string, string][] = [];
  for (const guide of allGuides) {
    const { sections } = await renderedOf(guide);
    for (const { id, title, text } of sections)
      rows.push([`${guidesPath}/${guide.slug}#${id}`, guide.title, title, text]);
    // Requests come in between.
    await setImmediate();
  }
  return createStaticText(JSON.stringify(rows));
}

const pictureTypes: Record<string, string> = { png: 'image/png', webp: 'image/webp' };

/** @returns the addresses of styles and script, which hold hashes of their contents */
async function registerAssets(app: App): Promise<GuideAssets> {
  const files = new Map<string, { content: StaticText; type: string }>();
  const add = async (path: string, type: string): Promise<string> => {
    const content = await loadStaticText(new URL(path, root));
    if (content === null) throw new Error(`${path} is missing`);
    const hashed = `${content.hash}${extname(path)}`;
    files.set(hashed, { content, type });
    return `${guidesPath}/assets/${hashed}`;
  };
  const assets = {
    styles: [await add('assets/tokens.css', 'text/css'), await add('assets/docs/guides.css', 'text/css')],
    script: await add('assets/docs/guides.js', 'text/javascript'),
  };
  const params = Type.Object({ name: Type.String() });

  app.get(`${guidesPath}/assets/:name`, { schema: { hide: true, params } }, async (request, reply) => {
    const file = files.get(request.params.name);
    if (file === undefined) throw new AppError('not_found');
    return sendStaticText(request, reply, file.content, { type: file.type, caching: immutable });
  });

  app.get(`${picturesPath}/:name`, { schema: { hide: true, params } }, async (request, reply) => {
    const [, extension = ''] = /^[\w-]+\.(png|webp)$/.exec(request.params.name) ?? [];
    const type = pictureTypes[extension];
    const picture =
      type && (await readFile(new URL(`docs/images/${request.params.name}`, root)).catch(() => undefined));
    if (!type || !picture) throw new AppError('not_found');
    return reply
      .headers({ 'cache-control': 'public, max-age=3600', 'x-content-type-options': 'nosniff' })
      .type(type)
      .send(picture as never);
  });
  return assets;
}

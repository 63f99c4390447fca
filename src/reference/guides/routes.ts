import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { Type } from '@sinclair/typebox';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing, trusted } from '../../platform/http/html.ts';
import { createStaticText, type StaticText } from '../../platform/http/static-text.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import type { DocsAssets } from '../site/assets.ts';
import { renderDocsPage, sendDocsPage, sendMarkdown } from '../site/page.ts';
import { allGuides, type Guide, guideGroups, guidesPath, imagesPath } from './guides.ts';
import { markdownFor, renderLlmsText } from './markdown.ts';
import type { Own, Rendered } from './render.ts';

const root = new URL('../../../', import.meta.url);

/** Search entry: URL, page title, heading, text. */
export type SearchRow = [href: string, page: string, heading: string, text: string];

type GuideDeps = Own & { assets: DocsAssets };

/**
 * Registers the routes of the guides in docs/ (docs/reference/operations-health.md#guides). Each guide is rendered when
 * it is first requested.
 * @returns a function that loads the search entries of the guides
 */
export function guideRoutes(app: App, { assets, ...own }: GuideDeps): () => Promise<SearchRow[]> {
  const rendered = new Map<Guide, Promise<Rendered>>();
  const renderedOf = (guide: Guide): Promise<Rendered> => getOrInsert(rendered, guide, () => render(guide, own));
  const pages = new Map<Guide, Promise<StaticText>>();
  const makePage = async (guide: Guide): Promise<StaticText> =>
    createStaticText(renderGuidePage({ guide, rendered: await renderedOf(guide), assets, isDemo: own.isDemo }));
  const sources = new Map<Guide, Promise<StaticText>>();
  const makeSource = async ({ file }: Guide): Promise<StaticText> =>
    createStaticText(markdownFor(await readDocument(file), file, own.publicUrl));

  app.get(guidesPath, { schema: { hide: true } }, async (_request, reply) =>
    reply.redirect(`${guidesPath}/${allGuides[0]?.slug}`),
  );

  app.get(
    `${guidesPath}/:slug`,
    { schema: { hide: true, params: Type.Object({ slug: Type.String() }) } },
    async (request, reply) => {
      const [, name, isMarkdown] = /^(.*?)(\.md)?$/.exec(request.params.slug) ?? [];
      const guide = allGuides.find(({ slug }) => slug === name);
      if (guide === undefined) throw new AppError('not_found');
      if (isMarkdown !== undefined)
        return sendMarkdown(request, reply, await getOrInsert(sources, guide, () => makeSource(guide)));
      return sendDocsPage(request, reply, await getOrInsert(pages, guide, () => makePage(guide)));
    },
  );
  let llmsText: Promise<StaticText> | null = null;
  app.get('/llms.txt', { schema: { hide: true } }, async (request, reply) => {
    llmsText ??= renderLlmsText(own.publicUrl, readDocument).then(createStaticText);
    return sendMarkdown(request, reply, await llmsText);
  });
  imageRoute(app);
  return () => searchRows(renderedOf);
}

/** Loads a document by its path relative to the package root. */
const readDocument = (file: string): Promise<string> => readFile(new URL(file, root), 'utf8');

/** Renders a guide. The rendering libraries are loaded with the first guide. */
async function render(guide: Guide, own: Own): Promise<Rendered> {
  const { renderMarkdown } = await import('./render.ts');
  return renderMarkdown(await readDocument(guide.file), guide.file, own);
}

type PageParts = { guide: Guide; rendered: Rendered; assets: DocsAssets; isDemo: boolean };

/** Renders a guide page with the list of all guides, the text, and its headings. */
const renderGuidePage = ({ guide, rendered, assets, isDemo }: PageParts): string =>
  renderDocsPage({
    title: guide.title,
    area: 'Guides',
    assets,
    isDemo,
    navigation: html`${guideGroups.map((group) => navGroup(group, guide))}`,
    content: html`<article>${trusted(rendered.markup)}</article>`,
    aside: tableOfContents(rendered),
  });

const navGroup = ({ title, guides }: (typeof guideGroups)[number], current: Guide): Html => html`
  <p class="nav-title">${title}</p>
  <ul>${guides.map(
    (guide) => html`
    <li>
      <a href="${guidesPath}/${guide.slug}"${guide === current && html` aria-current="page"`}>${guide.title}</a>
    </li>`,
  )}
  </ul>`;

function tableOfContents({ sections }: Rendered): Html {
  const topics = sections.filter(({ depth }) => depth === 2);
  if (topics.length < 2) return nothing;
  return html`
  <nav class="contents" aria-label="On this page">
    <p class="nav-title">On this page</p>
    <ul>${topics.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>
  </nav>`;
}

/** Returns a search entry for each heading of the guides. */
async function searchRows(renderedOf: (guide: Guide) => Promise<Rendered>): Promise<SearchRow[]> {
  const rows: SearchRow[] = [];
  for (const guide of allGuides) {
    const { sections } = await renderedOf(guide);
    for (const { id, title, text } of sections)
      rows.push([`${guidesPath}/${guide.slug}#${id}`, guide.title, title, text]);
    // Let other requests run between two guides.
    await setImmediate();
  }
  return rows;
}

const imageTypes: Record<string, string> = { png: 'image/png', webp: 'image/webp' };

function imageRoute(app: App): void {
  const params = Type.Object({ name: Type.String() });
  app.get(`${imagesPath}/:name`, { schema: { hide: true, params } }, async (request, reply) => {
    const [, extension = ''] = /^[\w-]+\.(png|webp)$/.exec(request.params.name) ?? [];
    const type = imageTypes[extension];
    const image = type && (await readFile(new URL(`docs/images/${request.params.name}`, root)).catch(() => undefined));
    if (!type || !image) throw new AppError('not_found');
    return reply
      .headers({ 'cache-control': 'public, max-age=3600', 'x-content-type-options': 'nosniff' })
      .type(type)
      .send(image as never);
  });
}

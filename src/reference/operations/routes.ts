import { Type } from '@sinclair/typebox';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { createStaticText, type StaticText } from '../../platform/http/static-text.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import type { SearchRow } from '../guides/routes.ts';
import { createDescription, type LiveExamples } from '../live-examples.ts';
import type { DocsAssets } from '../site/assets.ts';
import { sendDocsPage } from '../site/page.ts';
import { type Described, describeOperations } from './described.ts';
import { referencePath, tagPath } from './paths.ts';

type ReferenceDeps = { assets: DocsAssets; publicUrl: string; examples: LiveExamples | null };

/** Placeholder keys, which readers replace with real keys. Not used in the demo. */
const exampleKeys = { bearer: 'demo-key', operator: 'demo-operator-key' };

/**
 * Registers the routes for the API description and the API reference pages
 * (docs/reference/operations-health.md#api-reference). In the demo, they contain current values. Otherwise, each page
 * is rendered only once.
 * @returns a function that loads the search entries for the operations
 */
export function referenceRoutes(app: App, { assets, publicUrl, examples }: ReferenceDeps): () => Promise<SearchRow[]> {
  const describe = createDescription(app, examples);
  const keys = examples?.keys ?? exampleKeys;
  const isDemo = examples !== null;
  const rendered = new Map<string, Promise<StaticText | null>>();
  const renderPage = async (slug: string | null): Promise<StaticText | null> => {
    const { renderReferenceHome, renderTagPage } = await import('./page.ts');
    const parts = { reader: { document: await describe(), keys, publicUrl, isDemo }, assets };
    const page = slug === null ? renderReferenceHome(parts) : renderTagPage(slug, parts);
    return page === null ? null : createStaticText(page);
  };
  const pageOf = (slug: string | null) =>
    isDemo ? renderPage(slug) : getOrInsert(rendered, slug ?? '', () => renderPage(slug));

  app.get(referencePath, { schema: { hide: true } }, async (request, reply) =>
    sendDocsPage(request, reply, (await pageOf(null)) as StaticText),
  );

  app.get(`${referencePath}/api`, { schema: { hide: true } }, async (_request, reply) => reply.redirect(referencePath));

  app.get(
    `${referencePath}/api/:tag`,
    { schema: { hide: true, params: Type.Object({ tag: Type.String({ maxLength: 40 }) }) } },
    async (request, reply) => {
      const page = await pageOf(request.params.tag);
      if (page === null) throw new AppError('not_found');
      return sendDocsPage(request, reply, page);
    },
  );

  app.get(`${referencePath}/json`, { schema: { hide: true } }, async () => describe());

  app.get(`${referencePath}/yaml`, { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/yaml; charset=utf-8').send(app.swagger({ yaml: true }) as never),
  );

  return async () =>
    describeOperations(await describe())
      .flatMap(({ tags }) => tags)
      .flatMap((tag) => tag.operations.map((operation) => searchRow(tagPath(tag), operation)));
}

const searchRow = (page: string, { id, method, path, summary, description }: Described): SearchRow => [
  `${page}#${id}`,
  `${method.toUpperCase()} ${path}`,
  summary,
  `${description} ${id}`,
];

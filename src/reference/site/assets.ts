import { extname } from 'node:path';
import { Type } from '@sinclair/typebox';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { immutable, loadStaticText, type StaticText, sendStaticText } from '../../platform/http/static-text.ts';

/** Asset URLs, which contain content hashes. */
export type DocsAssets = { styles: readonly string[]; scripts: readonly string[] };

const root = new URL('../../../', import.meta.url);
const assetsPath = '/docs/assets';

/** Serves the styles and scripts of the documentation pages. */
export async function serveAssets(app: App): Promise<DocsAssets> {
  const files = new Map<string, { content: StaticText; type: string }>();
  const add = async (path: string, type: string): Promise<string> => {
    const content = await loadStaticText(new URL(path, root));
    if (content === null) throw new Error(`${path} is missing`);
    const hashed = `${content.hash}${extname(path)}`;
    files.set(hashed, { content, type });
    return `${assetsPath}/${hashed}`;
  };
  const addAll = (paths: string[], type: string) => Promise.all(paths.map((path) => add(path, type)));
  const styles = await addAll(['assets/tokens.css', 'assets/docs/docs.css', 'assets/docs/reference.css'], 'text/css');
  const scripts = ['search', 'snippets', 'sections', 'reference'].map((name) => `assets/docs/${name}.js`);
  const params = Type.Object({ name: Type.String() });

  app.get(`${assetsPath}/:name`, { schema: { hide: true, params } }, async (request, reply) => {
    const file = files.get(request.params.name);
    if (file === undefined) throw new AppError('not_found');
    return sendStaticText(request, reply, file.content, { type: file.type, caching: immutable });
  });
  return { styles, scripts: await addAll(scripts, 'text/javascript') };
}

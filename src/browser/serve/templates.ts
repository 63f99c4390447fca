import { readFile } from 'node:fs/promises';
import type { App, PlatformDeps } from '../../platform/ports.ts';

/** Correct from `src` and from `dist`. */
const folder = new URL('../../../assets/html/', import.meta.url);

/** What a template assumes where an app names no SDK. */
const serviceStatement = 'var service = location.origin;';

/** A string of a script, which cannot end the script. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll('<', '\\u003c');

/**
 * The templates of web views, ready for an app that fills in the placeholders of the specification alone: the SDK comes
 * from `PUBLIC_URL` (docs/interface.md#web-views).
 */
export async function templateRoutes(app: App, { config }: Pick<PlatformDeps, 'config'>): Promise<void> {
  for (const name of ['checkout.html', 'prefetch.html']) {
    const template = await readFile(new URL(name, folder), 'utf8');
    const ready = template.replace(serviceStatement, () => `var service = ${quoted(config.publicUrl)};`);
    app.get(`/sdk/html/${name}`, { schema: { hide: true } }, async (_request, reply) =>
      reply
        .headers({
          'cache-control': 'public, max-age=300',
          'cross-origin-resource-policy': 'cross-origin',
          'x-content-type-options': 'nosniff',
          'x-robots-tag': 'noindex',
        })
        .type('text/html; charset=utf-8')
        .send(ready),
    );
  }
}

import { readFile } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { createStaticText, immutable, sendStaticText } from '../../platform/http/static-text.ts';
import { languages } from '../../platform/i18n/languages.ts';
import type { Logger } from '../../platform/logger.ts';
import { type BrowserFile, loadScript, loadUnitFile, type ScriptName } from '../script.ts';

/** Cache lifetime of URLs without a content hash, in seconds. A new release reaches pages within this time. */
const plainMaxAgeS = 300;
const plainCaching = `public, max-age=${plainMaxAgeS}, stale-while-revalidate=86400`;

type ScriptRoutes = {
  name: ScriptName;
  /** URL paths without a content hash. */
  plainUrls: readonly string[];
  /**
   * Redirect target for URLs with the content hash of another release. If null, the current script is served instead.
   */
  redirectTo: string | null;
};

const launcherUrl = '/sdk/launcher.js';

/** Returns the URL paths of files under /sdk and, for older integrations, under the root. */
const bothUrls = (...files: string[]): string[] => files.flatMap((file) => [`/sdk/${file}`, `/${file}`]);

/** Browser scripts. The hosted offerwall script has no URL without a hash, because only its own page loads it. */
const scripts: readonly ScriptRoutes[] = [
  {
    name: 'launcher',
    plainUrls: bothUrls('launcher.js', 'launcher.min.js', 'launcher.native.min.js'),
    redirectTo: launcherUrl,
  },
  { name: 'perkswall', plainUrls: bothUrls('launcher.perkswall.js'), redirectTo: '/sdk/launcher.perkswall.js' },
  { name: 'exit', plainUrls: bothUrls('exit.js'), redirectTo: null },
  { name: 'impl', plainUrls: bothUrls('launcher.impl.js'), redirectTo: null },
  { name: 'conversion', plainUrls: ['/sdk/conversion.js'], redirectTo: null },
  { name: 'omnisdk', plainUrls: bothUrls('omnisdk.js'), redirectTo: null },
  { name: 'offerwall', plainUrls: [], redirectTo: null },
];

const schema = { hide: true };

/**
 * Registers the browser script routes (docs/reference/web-sdk.md). Each script is served by name and by content hash.
 */
export async function sdkRoutes(app: App, { config, logger }: { config: Config; logger: Logger }): Promise<void> {
  for (const { name, plainUrls, redirectTo } of scripts) {
    const script = await loadScript(name, config.publicUrl);
    if (script === null) logger.warn({ script: name }, 'browser script not built; run npm run build:sdk');
    for (const url of plainUrls)
      app.get(url, { schema }, async (request, reply) => sendFile(request, reply, script, plainCaching));
    app.get<{ Params: { hash: string } }>(
      `/sdk/${name}.:hash(^[0-9a-f]{12}).js`,
      { schema },
      async (request, reply) => {
        if (script === null || request.params.hash === script.hash) return sendFile(request, reply, script, immutable);
        if (redirectTo === null) return sendFile(request, reply, script, 'no-store');
        return reply.header('cache-control', 'no-store').redirect(redirectTo);
      },
    );
  }
  const unit = await loadUnitFile();
  app.get<{ Params: { hash: string } }>('/sdk/unit.:hash(^[0-9a-f]{12}).json', { schema }, async (request, reply) =>
    sendFile(request, reply, unit, request.params.hash === unit?.hash ? immutable : 'no-store', 'application/json'),
  );
  await wordsRoutes(app);
}

/**
 * Registers one route per language for the end-user messages (src/platform/i18n), which the scripts load if the page is
 * not in English.
 */
async function wordsRoutes(app: App): Promise<void> {
  for (const [language, { texts }] of Object.entries(languages)) {
    const { unit, offerwall } = texts.endUser;
    const text = createStaticText(JSON.stringify({ language, unit, offerwall }));
    app.get(`/sdk/messages.${language}.json`, { schema }, async (request, reply) => {
      reply.header('cross-origin-resource-policy', 'cross-origin');
      return sendStaticText(request, reply, text, { type: 'application/json', caching: plainCaching });
    });
  }
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: BrowserFile | null,
  caching: string,
  type = 'text/javascript',
): Promise<FastifyReply> {
  if (file === null) throw new AppError('not_found');
  reply.headers({ 'content-location': file.path, 'cross-origin-resource-policy': 'cross-origin' });
  return sendStaticText(request, reply, file, { type, caching });
}

/** Template directory. The relative path is the same from `src` and from `dist`. */
const folder = new URL('../../../assets/html/', import.meta.url);

/** Template line with the default service URL, used if an app does not configure the SDK. */
const serviceStatement = 'var service = location.origin;';

/** Serialises a string for an inline script so that it cannot close the script element. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll('<', '\\u003c');

/** URLs of the web view pages, by template file. */
const pageUrls = {
  'checkout.html': ['/sdk/html/checkout.html'],
  'prefetch.html': ['/sdk/html/prefetch.html'],
  'embed.html': bothUrls('embed.html'),
};

/**
 * Registers the routes of the ready-made pages for web views (docs/reference/web-sdk.md#web-views). Most templates
 * contain placeholders that an app fills in. One template takes all parameters from its URL. The SDK is loaded from
 * `PUBLIC_URL`.
 */
export async function templateRoutes(app: App, { config }: { config: Config }): Promise<void> {
  for (const [name, urls] of Object.entries(pageUrls)) {
    const template = await readFile(new URL(name, folder), 'utf8');
    const ready = template.replace(serviceStatement, () => `var service = ${quoted(config.publicUrl)};`);
    const sendPage = (reply: FastifyReply): FastifyReply =>
      reply
        .headers({
          'cache-control': 'public, max-age=300',
          'cross-origin-resource-policy': 'cross-origin',
          'x-content-type-options': 'nosniff',
          'x-robots-tag': 'noindex',
        })
        .type('text/html; charset=utf-8')
        .send(ready);
    for (const url of urls) app.get(url, { schema }, async (_request, reply) => sendPage(reply));
  }
  const style = createStaticText(await readFile(new URL('embed.css', folder), 'utf8'));
  for (const url of bothUrls('embed.css'))
    app.get(url, { schema }, async (request, reply) => {
      reply.header('cross-origin-resource-policy', 'cross-origin');
      return sendStaticText(request, reply, style, { type: 'text/css', caching: plainCaching });
    });
}

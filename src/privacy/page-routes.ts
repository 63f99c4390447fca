import { Type } from '@sinclair/typebox';
import type pg from 'pg';
import type { CatalogStore } from '../catalog/store.ts';
import { hostedStyle, styleDirectives } from '../catalog/themes.ts';
import type { Config } from '../config.ts';
import { createFailFast, type DatabaseHealth } from '../platform/db/health.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import type { ErrorPages } from '../platform/http/error-pages.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import { inRequestLanguage } from '../platform/i18n/reader.ts';
import { dayMs } from '../platform/lib/time.ts';
import { renderPrivacyPage, rules } from './page.ts';

const schema = {
  operationId: 'openPrivacyPage',
  summary: 'Get the privacy page',
  description: 'Returns the built-in privacy page of a publisher that does not link to its own.',
  tags: ['Offers'],
  security: [],
  params: Type.Object({ sdkId: Type.String() }),
  response: {
    200: { description: 'HTML page.', content: { 'text/html': { schema: Type.String() } } },
    ...errorAnswers(404, 503),
  },
};

const errorPages: ErrorPages = { not_found: 'endUser.privacy.notFound' };

const headersOf = (style: string) => ({
  'content-security-policy': [
    "default-src 'none'",
    ...styleDirectives(style),
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'public, max-age=300',
  vary: 'accept-language',
});

/** Retention of users' e-mail addresses, contributed by a single module. */
export type AddressRetention = {
  /** Time for which an address is retained, in milliseconds. */
  keepMs: number;
  mayKeepAddresses: (executor: Executor, publisherId: number) => Promise<boolean>;
};

type PageDeps = {
  catalog: CatalogStore;
  config: Config;
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  /** Retention of e-mail addresses, or null if no addresses are stored. */
  addressRetention: AddressRetention | null;
};

/**
 * Registers `GET /privacy/{sdk_id}`. For publishers without a privacy page of their own, `privacy_url` links to this
 * page (docs/reference/users-and-privacy.md#privacy).
 */
export async function privacyPageRoutes(
  app: App,
  { catalog, config, pool, dbHealth, addressRetention }: PageDeps,
): Promise<void> {
  const failFast = createFailFast(dbHealth);
  app.get('/privacy/:sdkId', { schema, config: { errorPages } }, async (request, reply) => {
    const publisher = catalog.current().publishersBySdkId.get(request.params.sdkId);
    if (publisher === undefined) throw new AppError('not_found');
    const keepsAddresses =
      addressRetention !== null && (await failFast(() => addressRetention.mayKeepAddresses(pool, publisher.id)));
    const style = hostedStyle(publisher, publisher.defaultTheme, rules);
    const page = inRequestLanguage(request, () =>
      renderPrivacyPage({
        style,
        publisherName: publisher.name,
        ownText: publisher.privacyText,
        rawDays: config.retentionRawDays,
        deliveryDays: config.retentionDeliveryDays,
        rollupDays: config.retentionRollupDays,
        addressDays: keepsAddresses ? addressRetention.keepMs / dayMs : null,
      }),
    );
    return reply
      .headers(headersOf(style))
      .type('text/html; charset=utf-8')
      .send(page as never);
  });
}

import { type PublisherContext, publisherPages } from '../../catalog/publisher-pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import { t } from '../../platform/i18n/messages.ts';
import type { App } from '../../platform/ports.ts';
import { type Fields, fieldErrorsOf, keyIn } from '../../shell/context.ts';
import type { Shell } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import type { Upload } from '../../shell/uploads.ts';
import type { CouponService } from '../service.ts';
import { cardId } from './coupon-card.ts';

type Services = Shell & { management: ManagementClient; service: CouponService };

/** What the forms of the coupon card do. */
export function couponPages(app: App, services: Services): void {
  const { management, service } = services;
  const pages = publisherPages(app, services);
  /** Back to the card, with what was done or why it was not. */
  const act =
    (work: (context: PublisherContext, fields: Fields, upload: Upload | null) => Promise<string>) =>
    async (context: PublisherContext, fields: Fields, upload: Upload | null): Promise<PageResult> => {
      const to = `${context.path(`/offers/${keyIn(context)}`)}#${cardId}`;
      try {
        return { to, done: await work(context, fields, upload) };
      } catch (err) {
        const [error] = fieldErrorsOf(err);
        if (error !== undefined) return { to, failed: `${error.path.replace('/', '')} ${error.message}` };
        if (err instanceof Error && 'code' in err && err.code === 'conflict') return { to, failed: err.message };
        throw err;
      }
    };
  const callOf = (context: PublisherContext) =>
    [management.actorOf(context), context.publisher.id, keyIn(context)] as const;

  pages.post(
    '/offers/:key/coupons/add',
    'manager',
    act(async (context, fields, upload) => {
      const { added, duplicate_count: duplicates } = await service.add(...callOf(context), givenIn(fields, upload));
      return t('coupons.added', { added, duplicates });
    }),
  );
  pages.post(
    '/offers/:key/coupons/settings',
    'manager',
    act(async (context, fields) => {
      await service.change(...callOf(context), settingsIn(fields));
      return t('coupons.saved');
    }),
  );
  pages.post(
    '/offers/:key/coupons/remove-codes',
    'manager',
    act(async (context) => {
      const { removed } = await service.removeCodes(...callOf(context));
      return t('coupons.removed', { count: removed });
    }),
  );
  pages.post(
    '/offers/:key/coupons/remove',
    'manager',
    act(async (context) => {
      await service.removePool(...callOf(context));
      return t('coupons.poolRemoved');
    }),
  );
}

function givenIn(fields: Fields, upload: Upload | null): unknown {
  if (upload !== null) return upload.bytes;
  const [shared, pattern] = [fields.text('shared').trim(), fields.text('pattern').trim()];
  return {
    ...(shared === '' ? {} : { shared }),
    ...(pattern === '' ? {} : { pattern, count: fields.number('count') }),
  };
}

function settingsIn(fields: Fields): Record<string, unknown> {
  const numberOrNull = (name: string): unknown => (fields.text(name).trim() === '' ? null : fields.number(name));
  const day = fields.text('expires_at').trim();
  const fallback = fields.text('fallback_code').trim();
  return {
    give_at: fields.text('give_at'),
    terms: fields.text('terms'),
    expires_at: day === '' ? null : `${day}T23:59:59Z`,
    valid_days: numberOrNull('valid_days'),
    hold_minutes: numberOrNull('hold_minutes'),
    ...(fallback === '' ? {} : { fallback_code: fallback }),
    low_share: fields.number('low_share'),
    low_hours: fields.number('low_hours'),
  };
}

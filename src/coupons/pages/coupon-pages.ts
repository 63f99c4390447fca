import { type PublisherContext, publisherPages } from '../../catalog/publisher-pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import { AppError } from '../../platform/errors.ts';
import type { Html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import type { App } from '../../platform/ports.ts';
import { type FieldErrors, type Fields, fieldErrorsOf, formOf, keyIn } from '../../shell/context.ts';
import type { Page, Shell } from '../../shell/layout.ts';
import { localToInstant } from '../../shell/local-time.ts';
import type { PageResult } from '../../shell/pages.ts';
import { typedValues } from '../../shell/row-list.ts';
import type { Upload } from '../../shell/uploads.ts';
import type { CouponService } from '../service.ts';
import { cardId, dayIn, expiresWas, fileField, type Refused } from './coupon-card.ts';

type Services = Shell & {
  management: ManagementClient;
  service: CouponService;
  card: (context: PublisherContext, offerId: number, refused: Refused) => Promise<Html>;
};

/** What the forms of the coupon card do. */
export function couponPages(app: App, services: Services): void {
  const { management, service } = services;
  const pages = publisherPages(app, services);
  /** Back to the card, with what was done or why it was not; a form that is refused is shown as it was typed. */
  const act =
    (
      work: (context: PublisherContext, fields: Fields, upload: Upload | null) => Promise<string>,
      form: Refused['form'] | null = null,
    ) =>
    async (context: PublisherContext, fields: Fields, upload: Upload | null): Promise<PageResult> => {
      const to = `${context.path(`/offers/${keyIn(context)}`)}#${cardId}`;
      try {
        return { to, done: await work(context, fields, upload) };
      } catch (err) {
        const errors = fieldErrorsOf(err).map(inFile);
        if (form !== null) return refusedPage(services, context, form, errors);
        return { to, failed: errors.map(({ message }) => message).join(' ') };
      }
    };
  const callOf = (context: PublisherContext) =>
    [management.actorOf(context), context.publisher.id, keyIn(context)] as const;

  pages.post(
    '/offers/:key/coupons/add',
    'manager',
    act(async (context, fields, upload) => {
      const call = callOf(context);
      await service.count(...call); // another publisher's offer is not found, whatever is typed
      const { added, duplicate_count: duplicates } = await service.add(...call, givenIn(fields, upload));
      return t('coupons.added', { added, duplicates });
    }, 'add'),
  );
  pages.post(
    '/offers/:key/coupons/settings',
    'manager',
    act(async (context, fields) => {
      await service.change(...callOf(context), settingsIn(fields, context.publisher.timeZone));
      return t('coupons.saved');
    }, 'settings'),
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

async function refusedPage(
  { card }: Services,
  context: PublisherContext,
  form: Refused['form'],
  errors: FieldErrors,
): Promise<Page> {
  const id = keyIn(context);
  const offers = context.path('/offers');
  return {
    title: t('coupons.title'),
    nav: 'offers',
    trail: [
      { text: t('nav.offers'), href: offers },
      { text: t('reports.offer', { id }), href: `${offers}/${id}` },
    ],
    status: 422,
    body: await card(context, Number(id), { form, typed: typedValues(formOf(context.request)), errors }),
  };
}

/** Errors of a line belong to the field with the file. */
function inFile({ path, message }: FieldErrors[number]): FieldErrors[number] {
  const [, line] = /^\/lines\/(\d+)$/.exec(path) ?? [];
  return line === undefined
    ? { path, message }
    : { path: `/${fileField}`, message: t('forms.line', { line, message }) };
}

/** @throws AppError invalid_request: not one of the three ways, but none or several */
function givenIn(fields: Fields, upload: Upload | null): unknown {
  const [shared, pattern] = [fields.text('shared'), fields.text('pattern')];
  if ([upload !== null, shared !== '', pattern !== ''].filter(Boolean).length !== 1)
    throw new AppError('invalid_request', { details: [{ path: `/${fileField}`, message: t('coupons.oneOf') }] });
  if (upload !== null) return upload.bytes;
  return pattern === '' ? { shared } : { pattern, count: fields.number('count') };
}

/** Codes are good until the end of the day; one that was not edited keeps its time. */
function expiresIn(fields: Fields, timeZone: string): string | null {
  const [day, stored] = [fields.text('expires_at'), fields.text(expiresWas)];
  if (day === dayIn(timeZone, stored)) return stored || null;
  return day === '' ? null : localToInstant(`${day}T23:59:59`, timeZone);
}

function settingsIn(fields: Fields, timeZone: string): Record<string, unknown> {
  const numberOrNull = (name: string): unknown => (fields.text(name).trim() === '' ? null : fields.number(name));
  const fallback = fields.text('fallback_code').trim();
  return {
    give_at: fields.text('give_at'),
    terms: fields.text('terms'),
    expires_at: expiresIn(fields, timeZone),
    valid_days: numberOrNull('valid_days'),
    hold_minutes: numberOrNull('hold_minutes'),
    ...(fallback === '' ? {} : { fallback_code: fallback }),
    low_share: fields.number('low_share'),
    low_hours: fields.number('low_hours'),
  };
}

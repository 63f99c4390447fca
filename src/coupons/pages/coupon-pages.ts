import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { Problem } from '../../platform/problem.ts';
import { notice } from '../../shell/components.ts';
import {
  type FieldErrors,
  type Fields,
  fieldErrorsOf,
  fieldsIn,
  fieldsOf,
  keyIn,
  queryText,
  reasonOf,
} from '../../shell/context.ts';
import { filePreview, readFileForm, warningText } from '../../shell/files.ts';
import { localToInstant } from '../../shell/format.ts';
import type { Page, Shell } from '../../shell/layout.ts';
import { isFragmentRequest, type PageResult, type Upload } from '../../shell/pages.ts';
import { requireUnchanged, withStored } from '../../shell/row-list.ts';
import { safeOdds } from '../loading/lines.ts';
import type { CouponService } from '../service.ts';
import { codePages } from './code-list.ts';
import {
  dayIn,
  expiresWas,
  fileField,
  guessableField,
  oddsNotice,
  pasteField,
  type Refused,
  settingsToForm,
  sources,
} from './coupon-card.ts';
import { cardId, poolsPath } from './paths.ts';
import { poolListPage } from './pool-list.ts';

type Services = Shell & {
  management: ManagementClient;
  service: CouponService;
  card: (context: PublisherContext, offerId: number, refused: Refused) => Promise<Html>;
};

/** Registers the page with all coupon pools, and the routes that handle the forms of the coupon card. */
export function couponPages(app: App, services: Services): void {
  const { management, service } = services;
  const pages = publisherPages(app, services);
  codePages(app, services);
  pages.get(poolsPath, 'analyst', async (context) =>
    poolListPage(context, await service.list(management.actorOf(context), context.publisher.id)),
  );
  /**
   * Runs the action of a form and redirects to the card, which shows the result. If the form is rejected, it is shown
   * again with its values.
   */
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
        if (err instanceof GuessableCodes)
          return formPage(services, context, { form: 'add', errors: [], odds: err.odds });
        const errors = fieldErrorsOf(err).map(inFile(upload));
        if (form !== null) return formPage(services, context, { form, errors });
        return { to, failed: errors.map(({ message }) => message).join(' ') };
      }
    };
  const callOf = (context: PublisherContext) =>
    [management.actorOf(context), context.publisher.id, keyIn(context)] as const;

  const add = act(async (context, fields, upload) => {
    const call = callOf(context);
    const input = codesIn(fields, upload);
    const odds = await oddsIn(services, call, fields);
    if (odds !== null && odds < safeOdds && !fields.checked(guessableField)) throw new GuessableCodes(odds);
    const done = Buffer.isBuffer(input)
      ? await service.addFile(...call, input, readFileForm(fields, input).options)
      : await service.add(...call, input);
    const added = t('coupons.added', { added: done.added, duplicates: done.duplicate_count });
    return [added, ...done.warnings.filter(({ code }) => code === 'weak_pattern').map(warningText)].join(' ');
  }, 'add');
  pages.get('/offers/:key/coupons/pattern', 'manager', async (context) => {
    const call = callOf(context);
    await service.count(...call);
    const typed = { pattern: queryText(context, 'pattern'), count: queryText(context, 'count') };
    try {
      const odds = await oddsIn(services, call, fieldsOf({ ...typed, source: 'pattern' }));
      return { fragment: odds === null ? nothing : oddsNotice(odds) };
    } catch (err) {
      return { fragment: notice('failed', html`<p>${reasonOf(err)}</p>`) };
    }
  });
  pages.post('/offers/:key/coupons/add', 'manager', async (context, fields, upload) => {
    const call = callOf(context);
    await service.count(...call); // another publisher's offer is not found, whatever is typed
    if (sourceIn(fields, upload) !== 'file') return add(context, fields, upload);
    const isFragment = isFragmentRequest(context.request);
    try {
      const bytes = fileIn(fields, upload);
      const file = readFileForm(fields, bytes);
      if (file.isChecked) return add(context, fields, upload);
      const view = await service.checkFile(...call, bytes, file.options);
      const again = isFragment || upload === null ? nothing : html`<p>${t('files.chooseAgain')}</p>`;
      const check = filePreview(view, file, again);
      return isFragment ? { fragment: check } : formPage(services, context, { form: 'add', errors: [], check });
    } catch (err) {
      const errors = fieldErrorsOf(err).map(inFile(upload));
      if (!isFragment) return formPage(services, context, { form: 'add', errors });
      return { fragment: notice('failed', html`<p>${errors.map(({ message }) => message).join(' ')}</p>`) };
    }
  });
  pages.post(
    '/offers/:key/coupons/settings',
    'manager',
    act(async (context, fields) => {
      const { timeZone } = context.publisher;
      const stored = settingsToForm(await service.pool(...callOf(context)), timeZone);
      requireUnchanged(fields, stored);
      await service.change(...callOf(context), settingsIn(withStored(fields, stored), timeZone));
      return t('coupons.saved');
    }, 'settings'),
  );
  pages.post(
    '/offers/:key/coupons/remove-codes',
    'manager',
    act(async (context) => {
      const { removed, left: remaining } = await service.removeCodes(...callOf(context));
      const done = t('coupons.removed', { count: removed });
      if (remaining > 0 || removed === 0) return done;
      const { has_fallback: hasFallback } = await service.pool(...callOf(context));
      return `${done} ${t('coupons.nowEmpty', { hasFallback: String(hasFallback) })}`;
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

/**
 * Renders the card with a submitted form, either because it was rejected or to show the dry-run result for its file.
 */
async function formPage(
  { card }: Services,
  context: PublisherContext,
  { form, errors, check, odds }: Omit<Refused, 'typed'>,
): Promise<Page> {
  const id = keyIn(context);
  const offers = context.path('/offers');
  const headline = context.publisher.index.offers.find((offer) => offer.id === Number(id))?.copy.title;
  return {
    title: t('coupons.title'),
    nav: 'offers',
    trail: [
      { text: t('nav.offers'), href: offers },
      { text: headline || t('reports.offer', { id }), href: `${offers}/${id}` },
    ],
    status: errors.length === 0 && odds === undefined ? 200 : 422,
    body: await card(context, Number(id), {
      form,
      typed: fieldsIn(context.request).values,
      errors,
      ...(check !== undefined && { check }),
      ...(odds !== undefined && { odds }),
    }),
  };
}

/** Assigns errors in single lines to the field of the file, or to that of the pasted codes. */
const inFile =
  (upload: Upload | null) =>
  ({ path, message }: FieldErrors[number]): FieldErrors[number] => {
    const [, line] = /^\/lines\/(\d+)$/.exec(path) ?? [];
    if (line === undefined) return { path, message };
    return { path: `/${upload === null ? pasteField : fileField}`, message: t('forms.line', { line, message }) };
  };

/** Thrown if the submitted pattern makes codes that are easy to guess, until the user confirms it. */
class GuessableCodes extends Error {
  readonly odds: number;

  constructor(odds: number) {
    super('the codes are easy to guess');
    this.odds = odds;
  }
}

/** Returns the chosen source of codes. Without a choice, it is the first source that has a value. */
function sourceIn(fields: Fields, upload: Upload | null): (typeof sources)[number] {
  const choice = sources.find((source) => source === fields.text('source'));
  if (choice !== undefined) return choice;
  const hasFile = upload !== null || pastedIn(fields) !== '';
  return sources.find((source) => source !== 'file' && !hasFile && fields.text(source) !== '') ?? 'file';
}

/** Returns the odds of guessing a code of the submitted pattern, or null if there is no complete pattern. */
async function oddsIn(
  { service }: Services,
  call: Readonly<Parameters<CouponService['count']>>,
  fields: Fields,
): Promise<number | null> {
  const [pattern, count] = [fields.text('pattern'), fields.number('count')];
  const isComplete = sourceIn(fields, null) === 'pattern' && pattern !== '' && typeof count === 'number' && count > 0;
  return isComplete ? service.oddsOf(...call, pattern, count) : null;
}

/**
 * Returns the codes of the form: a file, a shared code, or a pattern.
 * @throws AppError invalid_request
 */
function codesIn(fields: Fields, upload: Upload | null): unknown {
  const source = sourceIn(fields, upload);
  if (source === 'shared') return { shared: fields.text('shared') };
  if (source === 'pattern') return { pattern: fields.text('pattern'), count: fields.number('count') };
  return fileIn(fields, upload);
}

/** Returns the pasted codes, with leading empty lines, so that errors have the line numbers of the text area. */
function pastedIn({ values }: Fields): string {
  const pasted = values[pasteField];
  return typeof pasted === 'string' && pasted.trim() !== '' ? pasted : '';
}

/**
 * Returns the uploaded file, or the pasted codes as a file.
 * @throws AppError invalid_request if there are neither or both
 */
function fileIn(fields: Fields, upload: Upload | null): Buffer {
  const pasted = pastedIn(fields);
  if (upload !== null && pasted !== '')
    throw new AppError('invalid_request', {
      details: [{ path: `/${pasteField}`, message: new Problem('coupons.fileOrPaste') }],
    });
  if (upload !== null) return upload.bytes;
  if (pasted !== '') return Buffer.from(pasted);
  throw new AppError('invalid_request', {
    details: [{ path: `/${fileField}`, message: new Problem('coupons.chooseFile') }],
  });
}

/**
 * Returns the submitted expiry, which is the end of the selected day. If the day is unchanged, the stored time is
 * returned instead.
 */
function expiresIn(fields: Fields, timeZone: string): string | null {
  const [day, stored] = [fields.text('expires_at'), fields.text(expiresWas)];
  if (day === dayIn(timeZone, stored)) return stored || null;
  return day === '' ? null : localToInstant(`${day}T23:59:59`, timeZone);
}

function settingsIn(fields: Fields, timeZone: string): Record<string, unknown> {
  const numberOrNull = (name: string): unknown => (fields.text(name).trim() === '' ? null : fields.number(name));
  const fallback = fields.text('fallback_code');
  const keepsFallback = fields.text('when_empty') !== 'pause';
  return {
    give_at: fields.text('give_at'),
    terms: fields.text('terms'),
    expires_at: expiresIn(fields, timeZone),
    valid_days: numberOrNull('valid_days'),
    hold_minutes: numberOrNull('hold_minutes'),
    ...(keepsFallback ? fallback !== '' && { fallback_code: fallback } : { fallback_code: null }),
    low_share: fields.number('low_share'),
    low_hours: fields.number('low_hours'),
  };
}

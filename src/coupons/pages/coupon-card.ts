import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import {
  actionButton,
  badge,
  card,
  csrfField,
  descriptionList,
  hiddenField,
  notice,
  onceField,
} from '../../shell/components.ts';
import { type FieldErrors, type FormValues, hasRole } from '../../shell/context.ts';
import { checkButton, fileCheckArea, fileFields, warningText } from '../../shell/files.ts';
import { count, instantToLocal, moment } from '../../shell/format.ts';
import { columns, createForm, type FormBuilder, moreFields } from '../../shell/forms.ts';
import { defaultButton, storedVersion } from '../../shell/row-list.ts';
import { safeOdds } from '../loading/lines.ts';
import type { PoolView } from '../pools.ts';
import type { StockView } from '../stock.ts';
import { type CodeStatus, cardId, codesLink, roughHours } from './paths.ts';

/** Coupon settings and stock of an offer. `pool` is null if the offer has no codes. */
type OfferCoupons = { offerId: number; pool: PoolView | null; stock: StockView };

export const fileField = 'codes_file';
/** Name of the text area for pasted codes, which are read like a file. */
export const pasteField = 'codes';

/**
 * Form that is shown again with the submitted values because it was rejected. `check` is the result of a dry run, after
 * which the form is also shown again.
 */
export type Refused = {
  form: 'add' | 'settings';
  typed: FormValues;
  errors: FieldErrors;
  check?: Html;
  /** Odds of guessing a code of the submitted pattern, if they are too good. The user must then confirm the pattern. */
  odds?: number;
};

/** Sources of codes that the form offers. */
export const sources = ['file', 'pattern', 'shared'] as const;
/** Name of the checkbox that the user must check to add codes that are easy to guess. */
export const guessableField = 'guessable';

/**
 * Name of the hidden field that contains the stored expiry, precise to the second. The visible field contains only the
 * day.
 */
export const expiresWas = 'expires_at.was';

/** Returns the calendar day of an instant in a time zone, or an empty string. */
export const dayIn = (timeZone: string, at: string): string => instantToLocal(at, timeZone).slice(0, 10);

/** Renders the card for an offer's codes: the stock, the forms to add codes, and the pool settings. */
export function couponCard(context: PublisherContext, coupons: OfferCoupons, refused: Refused | null = null): Html {
  const { pool, stock, offerId } = coupons;
  const canEdit = hasRole(context.viewer.user.role, 'manager');
  const path = context.path(`/offers/${offerId}/coupons`);
  const isRefused = (form: Refused['form']): boolean => refused?.form === form;
  const add = addForm(context, path, isRefused('add') ? refused : null);
  const isAdding = isRefused('add') || (pool !== null && isEmpty(pool, stock));
  const body = html`
    ${pool === null ? html`<p class="hint">${t('coupons.none')}</p>` : stockPart(context, pool, stock)}
    ${canEdit && moreFields(t('coupons.add'), add, { isOpen: isAdding })}
    ${
      canEdit &&
      pool !== null &&
      moreFields(t('coupons.settings'), settingsForm(context, path, pool, isRefused('settings') ? refused : null), {
        isOpen: isRefused('settings'),
      })
    }
    ${canEdit && pool !== null && removal(context, path, pool, stock)}`;
  const options = pool === null ? { lead: t('coupons.lead') } : {};
  return html`<div id="${cardId}">${card(t('coupons.title'), body, options)}</div>`;
}

function stockPart(context: PublisherContext, pool: PoolView, stock: StockView): Html {
  const { publisher } = context;
  const codes = (status: CodeStatus) => codesLink(context, pool.offer_id, status, stock[status]);
  const { hours_left: hoursLeft } = stock;
  const isLow = stock.low && stock.left > 0;
  const estimate = hoursLeft === null || stock.left === 0 ? null : roughHours(hoursLeft);
  const hours = estimate !== null && html`<br><small>${t('coupons.hoursLeft', { hours: estimate })}</small>`;
  const stockText = html`${count(stock.left)} ${isLow ? badge(t('coupons.low'), 'warn') : nothing}${hours}`;
  const ended = stock.expired ? badge(t('coupons.expired'), 'bad') : nothing;
  const { loading } = stock;
  return html`
    ${
      pool.paused_since !== null &&
      notice(
        'warn',
        html`
          <p>${tHtml('stop.codes', {})}</p>
          <p class="hint">${tHtml('coupons.pausedSince', { time: moment(publisher, pool.paused_since) })}</p>`,
      )
    }
    ${emptyNotice(pool, stock)}
    ${stock.guess_odds !== null && stock.guess_odds < safeOdds && oddsNotice(stock.guess_odds)}
    ${loading !== null && notice('info', html`<p>${t('coupons.loading', { count: loading.received })}</p>`)}
    ${descriptionList([
      [
        t('coupons.left'),
        pool.kind === 'shared' ? html`<code>${pool.shared_code ?? ''}</code> ${ended}` : html`${stockText} ${ended}`,
      ],
      [t('coupons.given'), codes('given')],
      ...(stock.held > 0 ? [[t('coupons.held'), codes('held')] as const] : []),
      [t('coupons.redeemed'), codes('redeemed')],
      [t('coupons.cancelled'), codes('cancelled')],
    ])}`;
}

const weakText = (odds: number): string => warningText({ code: 'weak_pattern', message: '', count: odds });

const isEmpty = ({ kind }: PoolView, { left: remaining }: StockView): boolean => kind === 'codes' && remaining === 0;

/** Renders a notice for an empty pool whose offer is not paused, because users get the fallback code. */
const emptyNotice = (pool: PoolView, stock: StockView): Html =>
  !isEmpty(pool, stock) || pool.paused_since !== null
    ? nothing
    : notice('warn', html`<p>${t('coupons.onlyFallback')}</p>`);

/** Renders how easily codes of a pattern can be guessed. */
export const oddsNotice = (odds: number): Html =>
  odds < safeOdds
    ? notice('warn', html`<p>${weakText(odds)}</p>`)
    : html`<p class="hint">${t('coupons.strong', { odds: count(odds) })}</p>`;

/** Renders the fields for a pattern. While the user types, the server says how easily its codes can be guessed. */
function patternFields(form: FormBuilder, path: string, odds: number | undefined): Html {
  const confirm = html`
    ${notice('warn', html`<p>${weakText(odds ?? 0)}</p>`)}
    ${form.checkbox(guessableField, { label: t('coupons.addAnyway') })}`;
  return html`
    ${columns([
      form.input('pattern', { label: t('coupons.pattern'), hint: t('coupons.patternHint') }),
      form.input('count', { label: t('coupons.count'), type: 'number', min: 1 }),
    ])}
    <div aria-live="polite" hx-get="${path}/pattern" hx-include="#f-pattern, #f-count"
      hx-trigger="input delay:300ms from:#f-pattern, input delay:300ms from:#f-count">
      ${odds !== undefined && confirm}
    </div>`;
}

function addForm(context: PublisherContext, path: string, refused: Refused | null): Html {
  const form = createForm(refused?.typed ?? {}, refused?.errors);
  const file = html`
    <div class="label"><label for="f-codes-file">${t('coupons.file')}</label></div>
    <input type="file" id="f-codes-file" name="${fileField}" accept=".csv,.txt,text/csv,text/plain">`;
  const fields = {
    file: html`
      ${form.custom(fileField, t('coupons.file'), file)}
      ${form.textarea(pasteField, {
        label: t('coupons.paste'),
        hint: t('coupons.pasteHint'),
        rows: 5,
        code: true,
        secret: true,
        autocomplete: 'off',
      })}
      ${fileFields(form, { hasColumn: true })}
      <div class="form-end">${checkButton(`${path}/add`, t('coupons.check'))}</div>
      ${fileCheckArea(refused?.check ?? nothing)}`,
    pattern: patternFields(form, path, refused?.odds),
    shared: form.input('shared', { label: t('coupons.shared'), hint: t('coupons.sharedHint') }),
  };
  return html`
    <form class="form upload" method="post" enctype="multipart/form-data" action="${path}/add" data-keep>
      ${csrfField(context.viewer)}${onceField()}${defaultButton()}
      ${form.summary()}
      ${form.choices('source', {
        label: t('coupons.source'),
        choices: sources.map((value) => ({
          value,
          text: t('coupons.sourceChoice', { source: value }),
          fields: fields[value],
        })),
      })}
      <div class="form-end"><button class="button">${t('coupons.add')}</button></div>
    </form>`;
}

/** Returns the stored values of the form for the settings of a pool. */
export const settingsToForm = (pool: PoolView, timeZone: string): FormValues => ({
  give_at: pool.give_at,
  expires_at: dayIn(timeZone, pool.expires_at ?? ''),
  [expiresWas]: pool.expires_at ?? '',
  valid_days: pool.valid_days,
  hold_minutes: pool.hold_minutes,
  low_share: pool.low_share,
  low_hours: pool.low_hours,
  when_empty: pool.has_fallback ? 'fallback' : 'pause',
  fallback_code: '',
  terms: pool.terms,
});

function settingsForm(context: PublisherContext, path: string, pool: PoolView, refused: Refused | null): Html {
  const stored = settingsToForm(pool, context.publisher.timeZone);
  const form = createForm(refused?.typed ?? stored, refused?.errors);
  const choices = (['wrap', 'save', 'click'] as const).map((value) => ({
    value,
    text: t('coupons.giveAtChoice', { at: value }),
  }));
  const fallback = form.input('fallback_code', {
    label: t('coupons.fallback'),
    ...(pool.has_fallback && { hint: t('coupons.hasFallback') }),
    autocomplete: 'off',
  });
  return html`
    <form class="form" method="post" action="${path}/settings" data-keep>
      ${csrfField(context.viewer)}${storedVersion(stored)}${hiddenField(expiresWas, pool.expires_at ?? '')}
      ${form.summary()}
      ${form.choices('give_at', { label: t('coupons.giveAt'), hint: t('coupons.giveAtHint'), choices })}
      ${columns([
        form.input('expires_at', { label: t('coupons.expiresAt'), type: 'date' }),
        form.input('valid_days', { label: t('coupons.validDays'), type: 'number' }),
        form.input('hold_minutes', { label: t('coupons.holdMinutes'), type: 'number' }),
        form.input('low_share', { label: t('coupons.lowShare'), type: 'number' }),
        form.input('low_hours', { label: t('coupons.lowHours'), type: 'number' }),
      ])}
      ${form.choices('when_empty', {
        label: t('coupons.whenEmpty'),
        choices: (['pause', 'fallback'] as const).map((value) => ({
          value,
          text: t('coupons.whenEmptyChoice', { value }),
          ...(value === 'fallback' && { fields: fallback }),
        })),
      })}
      ${form.input('terms', { label: t('coupons.terms') })}
      <div class="form-end"><button class="button">${t('common.save')}</button></div>
    </form>`;
}

const removal = (
  context: PublisherContext,
  path: string,
  { has_fallback: hasFallback }: PoolView,
  { left: remaining }: StockView,
): Html => html`
  <div class="actions">
    ${
      remaining > 0 &&
      actionButton(context, {
        to: `${path}/remove-codes`,
        text: t('coupons.removeCodes'),
        kind: 'quiet',
        confirm: t('coupons.removeCodesConfirm', { count: remaining, isEmptied: String(!hasFallback) }),
      })
    }
    ${actionButton(context, {
      to: `${path}/remove`,
      text: t('coupons.removePool'),
      kind: 'danger',
      confirm: t('coupons.removePoolConfirm'),
    })}
  </div>`;

import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { actionButton, badge, card, csrfField, descriptionList, hiddenField, notice } from '../../shell/components.ts';
import { type FieldErrors, type FormValues, hasRole } from '../../shell/context.ts';
import { checkButton, fileCheckArea, fileFields } from '../../shell/files.ts';
import { count, instantToLocal, momentOr } from '../../shell/format.ts';
import { columns, createForm } from '../../shell/forms.ts';
import type { PoolView } from '../pools.ts';
import type { StockView } from '../stock.ts';

/** Coupon settings and stock of an offer. `pool` is null if the offer has no codes. */
type OfferCoupons = { offerId: number; pool: PoolView | null; stock: StockView };

export const cardId = 'coupons';
export const fileField = 'codes_file';

/**
 * Form that is shown again with the submitted values because it was rejected. `check` is the result of a dry run, after
 * which the form is also shown again.
 */
export type Refused = { form: 'add' | 'settings'; typed: FormValues; errors: FieldErrors; check?: Html };

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
  const body = html`
    ${pool === null ? html`<p class="hint">${t('coupons.none')}</p>` : stockPart(context, pool, stock)}
    ${canEdit && addForm(context, path, refused?.form === 'add' ? refused : null)}
    ${canEdit && pool !== null && settingsForm(context, path, pool, refused?.form === 'settings' ? refused : null)}
    ${canEdit && pool !== null && removal(context, path, stock)}`;
  return html`<div id="${cardId}">${card(t('coupons.title'), body, { lead: t('coupons.lead') })}</div>`;
}

function stockPart({ publisher }: PublisherContext, pool: PoolView, stock: StockView): Html {
  const hours = stock.hours_left === null ? nothing : html` · ${t('coupons.hoursLeft', { hours: stock.hours_left })}`;
  const stockText = html`${count(stock.left)}${hours} ${stock.low ? badge(t('coupons.low'), 'warn') : nothing}`;
  const ended = stock.expired ? badge(t('coupons.expired'), 'bad') : nothing;
  const { loading } = stock;
  return html`
    ${
      pool.paused_since !== null &&
      notice('warn', html`<p>${tHtml('stop.codes', {})} ${momentOr(publisher, pool.paused_since)}</p>`)
    }
    ${loading !== null && notice('info', html`<p>${t('coupons.loading', { count: loading.received })}</p>`)}
    ${descriptionList([
      [
        t('coupons.left'),
        pool.kind === 'shared' ? html`<code>${pool.shared_code ?? ''}</code> ${ended}` : html`${stockText} ${ended}`,
      ],
      [t('coupons.given'), count(stock.given)],
      ...(stock.held > 0 ? [[t('coupons.held'), count(stock.held)] as const] : []),
      [t('coupons.redeemed'), count(stock.redeemed)],
      [t('coupons.cancelled'), count(stock.cancelled)],
    ])}`;
}

function addForm(context: PublisherContext, path: string, refused: Refused | null): Html {
  const form = createForm(refused?.typed ?? {}, refused?.errors);
  const file = html`
    <div class="label"><label for="f-codes-file">${t('coupons.file')}</label></div>
    <input type="file" id="f-codes-file" name="${fileField}" accept=".csv,.txt,text/csv,text/plain">`;
  return html`
    <form class="form upload" method="post" enctype="multipart/form-data" action="${path}/add" data-keep>
      ${csrfField(context.viewer)}
      ${form.summary()}
      ${columns([
        form.custom(fileField, t('coupons.file'), file),
        form.input('pattern', { label: t('coupons.pattern'), hint: t('coupons.patternHint') }),
        form.input('count', { label: t('coupons.count'), type: 'number' }),
        form.input('shared', { label: t('coupons.shared') }),
      ])}
      ${fileFields(form, { hasColumn: true })}
      <div class="form-end">
        ${checkButton(`${path}/add`)}<button class="button">${t('coupons.add')}</button>
      </div>
      ${fileCheckArea(refused?.check ?? nothing)}
    </form>`;
}

function settingsForm(context: PublisherContext, path: string, pool: PoolView, refused: Refused | null): Html {
  const expiresAt = pool.expires_at ?? '';
  const stored = { ...pool, expires_at: dayIn(context.publisher.timeZone, expiresAt), fallback_code: '' };
  const form = createForm(refused?.typed ?? stored, refused?.errors);
  const choices = (['wrap', 'save', 'click'] as const).map((value) => ({
    value,
    text: t('coupons.giveAtChoice', { at: value }),
  }));
  return html`
    <form class="form" method="post" action="${path}/settings" data-keep>
      ${csrfField(context.viewer)}${hiddenField(expiresWas, expiresAt)}
      ${form.summary()}
      ${columns([
        form.select('give_at', { label: t('coupons.giveAt'), hint: t('coupons.giveAtHint'), choices }),
        form.input('expires_at', { label: t('coupons.expiresAt'), type: 'date' }),
        form.input('valid_days', { label: t('coupons.validDays'), type: 'number' }),
        form.input('hold_minutes', { label: t('coupons.holdMinutes'), type: 'number' }),
        form.input('fallback_code', {
          label: t('coupons.fallback'),
          hint: t(pool.has_fallback ? 'coupons.hasFallback' : 'coupons.noFallback'),
          autocomplete: 'off',
        }),
        form.input('low_share', { label: t('coupons.lowShare'), type: 'number' }),
        form.input('low_hours', { label: t('coupons.lowHours'), type: 'number' }),
      ])}
      ${form.input('terms', { label: t('coupons.terms') })}
      <div class="form-end"><button class="button">${t('common.save')}</button></div>
    </form>`;
}

const removal = (context: PublisherContext, path: string, { left: remaining }: StockView): Html => html`
  <div class="actions">
    ${
      remaining > 0 &&
      actionButton(context, {
        to: `${path}/remove-codes`,
        text: t('coupons.removeCodes'),
        kind: 'quiet',
        confirm: t('coupons.removeCodesConfirm', { count: remaining }),
      })
    }
    ${actionButton(context, {
      to: `${path}/remove`,
      text: t('coupons.removePool'),
      kind: 'danger',
      confirm: t('coupons.removePoolConfirm'),
    })}
  </div>`;

import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { count } from '../../shell/format.ts';

/** URL path of the page with all coupon pools of a publisher. */
export const poolsPath = '/coupons';

/** Element ID of the card for an offer's codes. */
export const cardId = 'coupons';

/** Statuses of codes that can be listed. Redeemed and cancelled codes are also `given`. */
export const codeStatuses = ['given', 'held', 'redeemed', 'cancelled'] as const;
export type CodeStatus = (typeof codeStatuses)[number];

/** Returns the URL of the list of an offer's codes in a status. */
export const codesUrl = ({ path }: PublisherContext, offerId: number, status: CodeStatus): string =>
  `${path(`/offers/${offerId}/coupons/codes`)}?status=${status}`;

/** Renders a number of codes as a link to these codes. */
export function codesLink(
  context: PublisherContext,
  offerId: number,
  status: CodeStatus,
  value: number,
): Html | string {
  if (value === 0) return count(value);
  const href = codesUrl(context, offerId, status);
  return html`<a class="opens-rows" href="${href}" title="${t('rows.open')}">${count(value)}</a>`;
}

/** Rounds an estimated time in hours. Only short times keep a decimal. */
export const roughHours = (hours: number): number => (hours < 10 ? hours : Math.round(hours));

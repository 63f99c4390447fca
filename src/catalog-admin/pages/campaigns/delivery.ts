import { splitKind } from '../../../catalog/event-kinds.ts';
import type { View } from '../../../management/resource.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { badge, notice } from '../../../shell/components.ts';
import { count, moneyFormat, percent } from '../../../shell/format.ts';
import { type Choice, filterSelect } from '../../../shell/forms.ts';

/** Badge colours, by delivery state. */
const tones = {
  delivering: 'good',
  limited: 'warn',
  exhausted: 'bad',
  paused: 'warn',
  stopped: 'bad',
  scheduled: 'plain',
  ended: 'plain',
} as const;

type State = keyof typeof tones;

/** Entry of a campaign's `usage`, in the API format. */
type Usage = {
  publisher_id: number | null;
  metric: string;
  per: string;
  limit: number;
  spent: number;
  remaining: number;
  next_cost: number;
  exhausted: boolean;
};

/** Campaign view with the fields that other modules add. */
type DeliveredView = View & { delivery_state?: State; usage?: readonly Usage[] };

const stateText = (state: State): string => t('campaigns.deliveryState', { state });

/** Renders the delivery state filter of the campaign list. */
export const deliveryFilter = (selected: string): Html =>
  filterSelect(
    'delivery_state',
    t('campaigns.delivery'),
    Object.keys(tones).map((value): Choice => ({ value, text: stateText(value as State) })),
    selected,
  );

/** Renders a badge with the campaign's delivery state and the exhausted limit, if any. */
export function deliveryCell(row: View): Html {
  const { delivery_state: state } = row as DeliveredView;
  if (state === undefined) return nothing;
  const reason = state === 'exhausted' ? exhaustedText(row) : null;
  return html`${badge(stateText(state), tones[state])}${reason !== null && html`<br><small>${reason}</small>`}`;
}

/** Renders the delivery state for a list, with how much of the campaign's main limit is used. */
export function deliveryListCell(row: View): Html {
  const main = (row as DeliveredView).delivery_state === 'exhausted' ? null : mainLimit(row);
  if (main === null) return deliveryCell(row);
  const use = t('campaigns.limitUse', { share: percent(main.share), limit: main.limit });
  return html`${deliveryCell(row)}<br><small class="hint">${use}</small>`;
}

/** Renders a notice for the campaign page if a budget or total cap has no room for the next event. */
export function exhaustedNotice(row: View): Html {
  const { delivery_state: state } = row as DeliveredView;
  const reason = state === 'exhausted' ? exhaustedText(row) : null;
  return reason === null ? nothing : notice('warn', html`<p>${reason} ${t('campaigns.exhaustedUntil')}</p>`);
}

/**
 * Renders the usage of the campaign's budget or, without a budget, of the total cap that is used most. Returns null if
 * the campaign has neither.
 */
export function budgetTile(row: View): Html | null {
  const main = mainLimit(row);
  return main === null
    ? null
    : html`
    <strong>${main.spent}</strong>
    <meter min="0" max="1" value="${main.share}" aria-label="${t('campaigns.spent')}"></meter>
    <small>${t('campaigns.ofLimit', { limit: main.limit })}</small>`;
}

/** Returns how much of the campaign's budget or, without a budget, of its most used total cap is used, or null. */
function mainLimit(row: View): { share: number; spent: string; limit: string } | null {
  const { usage = [], payout_currency: currency } = row as DeliveredView;
  const shareOf = ({ limit, spent }: Usage): number => (limit > 0 ? Math.min(1, spent / limit) : 1);
  const [first] = usage.toSorted(
    (a, b) => Number(b.metric === 'budget') - Number(a.metric === 'budget') || shareOf(b) - shareOf(a),
  );
  if (first === undefined) return null;
  const { metric, per, limit, spent } = first;
  const amount = metric === 'budget' ? moneyFormat(String(currency)) : count;
  const { kind, name: event } = splitKind(metric);
  const text = t('campaigns.limitOf', { limit: amount(limit), metric: kind, event, per });
  return { share: shareOf(first), spent: amount(spent), limit: text };
}

/** Describes the first budget or total cap that has no room for the next event. Returns null if none exists. */
function exhaustedText(row: View): string | null {
  const { usage = [], payout_currency: currency, payout_kind: kind } = row as DeliveredView;
  const limits = usage.filter(({ exhausted }) => exhausted);
  const reached = limits.find(({ publisher_id: id }) => id === null) ?? limits[0];
  if (reached === undefined) return null;
  const { metric, per, limit, spent, remaining, next_cost: cost } = reached;
  const money = moneyFormat(String(currency));
  if (metric === 'budget' && remaining > 0 && kind !== 'cps') {
    const amounts = { remaining: money(remaining), cost: money(cost), kind: String(kind) };
    return t('campaigns.budgetExhausted', amounts);
  }
  const amount = metric === 'budget' ? money : count;
  const eventKind = splitKind(metric);
  return t('campaigns.limitReached', {
    spent: amount(spent),
    metric: eventKind.kind,
    limit: t('campaigns.limitOf', { limit: amount(limit), metric: eventKind.kind, event: eventKind.name, per }),
  });
}

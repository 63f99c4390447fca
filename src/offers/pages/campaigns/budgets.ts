import type { Standing } from '../../../budgets/standing.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { moneyFormat } from '../../../reports/money.ts';
import { card, table } from '../../../shell/components.ts';
import { count, percent } from '../../../shell/format.ts';

/** Where the budgets and total caps of a campaign stand: spent, reserved, unbilled, and beside its pacing plan. */
export function budgetsCard(standings: readonly Standing[], currency: string | null): Html {
  if (standings.length === 0) return nothing;
  const money = moneyFormat(currency);
  const columns = [
    { text: t('campaigns.limit') },
    { text: t('campaigns.spent'), numeric: true },
    { text: t('campaigns.reserved'), numeric: true },
    { text: t('metrics.unbilled'), numeric: true },
    { text: t('campaigns.plan'), numeric: true },
  ];
  const rows = standings.map(({ publisherId, metric, per, limit, spent, reserved, unbilled, planned }) => {
    const amount = metric === 'budget' ? money : count;
    const name = t('campaigns.limitOf', { limit: amount(limit), metric, per });
    const share = limit > 0 ? Math.min(1, spent / limit) : 1;
    return [
      html`${name}${publisherId !== null && html`<br><small>${t('campaigns.atPublisher', { id: publisherId })}</small>`}
        <br><meter min="0" max="1" value="${share}" aria-label="${t('campaigns.spent')}"></meter> ${percent(share)}`,
      amount(spent),
      metric === 'clicks' ? '–' : amount(reserved),
      metric === 'budget' ? money(unbilled) : '–',
      planText(spent + reserved, planned, limit, amount),
    ];
  });
  return card(t('campaigns.budgets'), table(t('campaigns.budgets'), columns, rows), {
    lead: t('campaigns.budgetsLead'),
  });
}

/** A plan is followed to a hundredth of its limit. */
const tolerance = 0.02;

function planText(
  used: number,
  planned: number | null,
  limit: number,
  amount: (value: number) => string,
): Html | string {
  if (planned === null) return '–';
  const by = (used - planned) / limit;
  const state = Math.abs(by) <= tolerance ? 'on' : by > 0 ? 'ahead' : 'behind';
  return html`${amount(planned)}<br><small>${t('campaigns.planState', { state })}</small>`;
}

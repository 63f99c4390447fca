import { type ControlsEffect, ruleKey, rulesOf } from '../../../catalog/controls.ts';
import type { PageExtensions, PublisherContext } from '../../../catalog/pages.ts';
import type { ControlsRule } from '../../../catalog/rules.ts';
import type { StoredControls } from '../../../catalog/types.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { fromMicros } from '../../../platform/money.ts';
import { type Cell, card, linkButton, notice, table } from '../../../shell/components.ts';
import { count, moneyFormat, percent } from '../../../shell/format.ts';
import type { Picker } from '../campaigns/options.ts';
import { detailsByRule, endText, ruleText } from './controls-rules.ts';

/** Query parameter that requests the cost of each block rule. */
const costAsked = 'cost';

/** Renders a notice that shows how the entered rules would have changed recent decisions. */
export async function effectNotice(
  { extensions }: { extensions: PageExtensions },
  { publisher }: PublisherContext,
  typed: StoredControls,
): Promise<Html> {
  const effect = await extensions.controlsEffects?.of(publisher, typed);
  if (effect === undefined || effect.sampled === 0) return notice('info', html`<p>${t('controls.noSample')}</p>`);
  const { changed, emptied, revenue, isEnough, ...sample } = effect;
  const shares = { changed: percent(changed), emptied: percent(emptied) };
  return notice(
    emptied > 0 ? 'warn' : 'info',
    html`
      <p>${tHtml('controls.effect', { ...shares, ...sampleText(sample) })}</p>
      ${revenue.length > 0 && html`<p>${tHtml('controls.effectRevenue', { amount: amountText(revenue) })}</p>`}
      ${!isEnough && html`<p>${t('controls.tooLittleData')}</p>`}`,
  );
}

const sampleText = ({ days, sessions, sampled }: { days: number; sessions: number; sampled: number }) => ({
  days,
  sessions: count(sessions),
  sampled: count(sampled),
});

const amountText = (revenue: ControlsEffect['revenue']): string =>
  revenue.map(({ currency, micros }) => moneyFormat(currency)(fromMicros(micros))).join(' + ') || '–';

/**
 * Renders a card with the cost of each rule. The cost is computed only on request, because all sampled decisions must
 * be repeated for each rule.
 */
export async function costCard(
  { extensions }: { extensions: PageExtensions },
  context: PublisherContext,
  { stored, nowMs, picker }: { stored: StoredControls; nowMs: number; picker: Picker },
): Promise<Html> {
  if (rulesOf(stored).length === 0 || extensions.controlsEffects === undefined) return nothing;
  const { query } = context.request as { query: Readonly<Record<string, unknown>> };
  if (query[costAsked] === undefined) {
    const button = linkButton(`?${costAsked}=1#cost`, t('controls.countCost'));
    return card(t('controls.cost'), button, { lead: t('controls.costLead') });
  }
  const { rules, rest, ...sample } = await extensions.controlsEffects.cost(context.publisher);
  const columns = [
    ...[t('controls.rule'), t('controls.note')].map((text) => ({ text })),
    ...[t('controls.changed'), t('controls.emptied'), t('controls.costs')].map((text) => ({ text, numeric: true })),
  ];
  const details = detailsByRule(stored);
  const noteOf = (rule: ControlsRule): Html => {
    const detail = details.get(ruleKey(rule));
    return html`${detail?.note}${detail?.ends_at && html`<br>${endText(context, detail, nowMs)}`}`;
  };
  const rows = rules.map(({ effect: { changed, emptied, revenue, isEnough }, ...rule }): Cell[] => [
    ruleText(rule, picker),
    noteOf(rule),
    ...[percent(changed), percent(emptied)],
    isEnough ? amountText(revenue) : t('controls.tooLittle'),
  ]);
  const body = html`
    <p class="hint" id="cost">${t('controls.sample', sampleText(sample))}</p>
    ${table(t('controls.cost'), columns, rows)}
    ${rest > 0 && html`<p class="hint">${t('controls.rest', { rest })}</p>`}`;
  return card(t('controls.cost'), sample.sampled === 0 ? html`<p>${t('controls.noSample')}</p>` : body, {
    lead: t('controls.costLead'),
  });
}

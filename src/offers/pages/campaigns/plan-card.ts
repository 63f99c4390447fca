import type { PlanCurve } from '../../../budgets/pacing.ts';
import type { Standing } from '../../../budgets/standing.ts';
import { splitKind } from '../../../catalog/event-kinds.ts';
import type { CapMetric } from '../../../catalog/rules.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import type { CampaignHour } from '../../../reports/bookings.ts';
import { card, drawnChart } from '../../../shell/components.ts';
import { count, momentText, moneyFormat, percent } from '../../../shell/format.ts';
import type { HoldBack } from '../../goals.ts';
import { outcomeText } from '../../outcome-text.ts';

/** Limit with a pacing plan, and its plan for the current period. */
export type PlannedLimit = { standing: Standing; plan: PlanCurve };

/** Returns the limit whose plan restricts delivery most: the one with the lowest share of decisions. */
export function decisivePlan(standings: readonly Standing[]): PlannedLimit | null {
  const planned = standings.flatMap((standing) => {
    const plan = standing.curve();
    return plan === null ? [] : [{ standing, plan }];
  });
  return planned.toSorted((a, b) => a.plan.probability - b.plan.probability)[0] ?? null;
}

/** Tolerated deviation from a plan, as a fraction of the planned use in the period. */
const tolerance = 0.02;

/** Maximum number of listed rules. */
const maxRules = 3;

type PlanCard = PlannedLimit & {
  currency: string | null;
  hours: readonly CampaignHour[];
  holdBacks: readonly HoldBack[];
  nowMs: number;
};

/** Renders the card that compares the delivery in the current period with the plan, and explains a deviation. */
export function planCard({ standing, plan, currency, hours, holdBacks, nowMs }: PlanCard): Html {
  const { metric, per } = standing;
  const isMoney = metric === 'budget';
  const unit = isMoney ? 1_000_000 : 1;
  const amount = isMoney ? moneyFormat(currency) : count;
  const whole = plan.points.at(-1)?.planned ?? 0;
  const by = plan.used - plan.planned;
  const state = Math.abs(by) <= tolerance * whole ? 'on' : by > 0 ? 'ahead' : 'behind';
  const text = (value: number): string => amount(isMoney ? value / unit : Math.round(value));
  const values = {
    state,
    used: text(plan.used),
    planned: text(plan.planned),
    by: text(Math.abs(by)),
    whole: text(whole),
  };
  const projected = plan.projected === null ? null : text(Math.min(plan.projected, whole));
  const time = momentText({ timeZone: plan.zone }, plan.endMs);
  const rules = holdBacks.slice(0, maxRules).map(({ rule, share }) => `${outcomeText(rule)} (${percent(share)})`);
  const body = html`
    <p><strong>${t('campaigns.planNow', values)}</strong></p>
    <p>
      ${t('campaigns.planEffect', { state, share: percent(plan.probability) })}
      ${state === 'behind' && rules.length > 0 && t('campaigns.planHeldBack', { rules: rules.join(', ') })}
    </p>
    <p class="hint">
      ${t('campaigns.planEnds', { time, zone: plan.zone })}
      ${projected !== null && t('campaigns.planProjected', { projected, whole: values.whole })}
      ${per === 'lifetime' && t('campaigns.planDaily')}
    </p>
    ${chartOf({ plan, metric, hours, unit, currency, nowMs })}`;
  const { kind, name: event } = splitKind(metric);
  const limit = t('campaigns.limitOf', { limit: amount(standing.limit), metric: kind, event, per });
  return card(t('campaigns.planTitle'), body, { lead: limit });
}

type Chart = {
  plan: PlanCurve;
  hours: readonly CampaignHour[];
  currency: string | null;
  nowMs: number;
  metric: CapMetric;
  unit: number;
};

/** Renders the chart of the planned and the actual use since the start of the period. */
function chartOf({ plan, metric, hours, unit, currency, nowMs }: Chart): Html {
  const read = valueIn[metric];
  if (read === undefined) return nothing;
  const isMonth = plan.points.length > 30;
  const usedAt = (atMs: number): number =>
    hours.reduce((sum, hour) => (hour.atMs < atMs ? sum + read(hour) : sum), 0) / unit;
  const actual = plan.points.map(({ atMs }) => (atMs <= nowMs ? usedAt(atMs) : null));
  const isMoney = metric === 'budget';
  const format = isMoney ? moneyFormat(currency) : (value: number) => count(Math.round(value));
  const zone = { timeZone: plan.zone };
  return drawnChart({
    caption: t('campaigns.planChart'),
    heading: t('campaigns.planTime'),
    times: plan.points.map(({ atMs }) => ({ text: momentText(zone, atMs, isMonth ? 'day' : 'minute'), atMs })),
    series: [
      { label: t('campaigns.planActual'), values: actual, summary: 'latest' },
      {
        label: t('campaigns.planPlanned'),
        values: plan.points.map(({ planned }) => planned / unit),
        isDashed: true,
        summary: 'latest',
      },
    ],
    zone: plan.zone,
    style: isMoney ? { currency } : 'count',
    format,
  });
}

const valueIn: Readonly<Record<string, (hour: CampaignHour) => number>> = {
  impressions: ({ impressions }) => impressions,
  clicks: ({ clicks }) => clicks,
  budget: ({ revenueMicros }) => revenueMicros,
};

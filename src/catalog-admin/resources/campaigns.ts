import { Type } from '@sinclair/typebox';
import { contradictionsIn } from '../../catalog/conditions.ts';
import { campaignLimits, landingMacros, normaliseName } from '../../catalog/names.ts';
import {
  type CampaignRules,
  campaignGoal,
  campaignRules,
  checkRules,
  payoutKinds,
  timeProblem,
} from '../../catalog/rules.ts';
import { loadExchangeRates } from '../../catalog/store.ts';
import { audit } from '../../management/audit.ts';
import { checkUrls, flag, httpsUrl, nameField, text, weight } from '../../management/fields.ts';
import {
  idSchema,
  orNull,
  type Resource,
  removal,
  stamps,
  stopExpressions,
  stopFields,
  timestamp,
  type Values,
  type View,
  type Warning,
} from '../../management/resource.ts';
import { columnsOf, viewOf } from '../../management/rows.ts';
import { patternProblem } from '../../management/schema-errors.ts';
import type { Work } from '../../management/unit-of-work.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { exchangeOn } from '../../platform/exchange-rates.ts';
import { warnOfMacros } from '../../platform/lib/misspelt-macros.ts';
import { offsetMs, timeOf } from '../../platform/lib/time-zone.ts';
import { isKnownZone, warnOfZone } from '../../platform/lib/zone-names.ts';
import { problem } from '../../platform/problem.ts';
import { requireApproval } from '../approval.ts';
import { advertisers } from './advertisers.ts';
import { checkPayout, checkPayoutChange } from './campaign-payout.ts';
import { warnOfTargetedLanguages } from './language-warnings.ts';
import { offers } from './offers.ts';

/** Campaign resource: landing page, payout and targeting rules. */
export const campaigns: Resource = {
  name: 'campaigns',
  noun: 'campaign',
  table: 'campaigns',
  key: 'id',
  within: { campaign: 'id' },
  permission: 'offers/management',
  input: Type.Object(
    {
      advertiser_id: idSchema,
      name: nameField(),
      category: text(campaignLimits.category, { default: '' }),
      tags: Type.Array(Type.String({ minLength: 1, maxLength: campaignLimits.tag }), {
        maxItems: 50,
        uniqueItems: true,
        default: [],
      }),
      active: flag(true),
      priority: Type.Integer({
        minimum: 0,
        maximum: 10_000,
        default: 100,
        description: 'Lower numbers are shown first.',
      }),
      weight: weight('Higher weights are shown first if no offer of the same priority pays.'),
      ranking: Type.Union([Type.Literal('learned'), Type.Literal('fixed')], {
        default: 'learned',
        description:
          '`learned` ranks by expected revenue, and by weight if no offer pays. `fixed` ranks by weight only, ' +
          'before learned campaigns of the same priority.',
      }),
      is_product: flag(false),
      is_loyalty: flag(false, 'Whether the offers can be incentive offers.'),
      offer_description: text(campaignLimits.offer_description, { default: '' }),
      landing_url: httpsUrl(
        'Landing page URL. After the host it can contain macros: ' +
          `${landingMacros.map((name) => `\`{${name}}\``).join(', ')}.`,
      ),
      click_id_param: Type.String({
        pattern: '^[A-Za-z0-9_.-]{1,64}$',
        [patternProblem]: problem('parameterName'),
        default: 'click_id',
        description: 'Query parameter of the landing page that receives the click ID.',
      }),
      opt_out_days: orNull(Type.Integer({ minimum: 1, maximum: 3650 }), {
        default: null,
        description:
          'Days for which the campaign is hidden from a user after "no thanks"; `null` hides it permanently.',
      }),
      payout_kind: Type.Union(
        payoutKinds.map((kind) => Type.Literal(kind)),
        {
          default: 'cpc',
          description:
            'What is paid for: `cpc` a click, `cpa` an action, `cpm` 1,000 impressions, `cps` a share of the sale.',
        },
      ),
      payout_amount: Type.Number({
        minimum: 0,
        maximum: 1_000_000,
        default: 0,
        description: 'Amount in `payout_currency`; for `cps`, percent of the sale.',
      }),
      payout_currency: Type.String({
        pattern: '^[A-Z]{3}$',
        [patternProblem]: problem('currencyCode'),
        default: 'USD',
        description:
          'ISO 4217 code. It cannot be changed after revenue has been booked; create another campaign instead.',
      }),
      overspend_percent: Type.Integer({
        minimum: 0,
        maximum: 100,
        default: 0,
        description: 'Percentage by which late events can exceed a budget.',
      }),
      goal: orNull(campaignGoal, {
        title: 'Goal',
        default: null,
        description:
          'Number of events to deliver by a deadline. It takes priority over revenue if the campaign falls ' +
          'behind. `null` for no goal.',
      }),
      rules: Type.Object(campaignRules.properties, {
        title: 'CampaignRules',
        additionalProperties: false,
        default: {},
        description: 'Targeting, schedule, caps and other delivery rules.',
      }),
    },
    { additionalProperties: false },
  ),
  readOnly: {
    activated_at: orNull(timestamp(), {
      title: 'ActivatedAt',
      description: 'Time of the first activation, or `null` if the campaign was never active.',
    }),
    goal_since: orNull(timestamp(), {
      title: 'GoalSince',
      description:
        'Start of counting for the goal: when the goal was set or its metric changed. `null` without a goal.',
    }),
    ...stopFields,
    ...stamps,
    ...removal,
  },
  expressions: stopExpressions,
  removedAt: 'deleted_at',
  references: { advertiser_id: advertisers },
  sorts: {
    id: 'integer',
    name: 'text',
    priority: 'integer',
    weight: 'integer',
    category: 'text',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  filters: ['advertiser_id', 'active', 'stopped', 'category', 'is_loyalty', 'is_product', 'payout_kind'],
  searched: ['name', 'category'],
  checksAnyShape: true,
  check: async (values, work, current) => [
    ...checkUrls(values, ['landing_url']),
    ...checkPayout(values.payout_kind, values),
    ...checkGoal(values.goal),
    ...checkRules(values.rules, zoneRule(current)).map(({ path, message }) => ({ path: `/rules${path}`, message })),
    ...(await checkAudiences(values.rules, work)),
  ],
  checkChange: checkPayoutChange,
  warnOfUrls,
  warn: async (view, work) => [
    ...warnOfZone('/rules/schedule/time_zone', zoneOf(view)),
    ...warnOfUrls(view),
    ...warnOfTargetedLanguages(view),
    ...warnOfContradictions(view, work),
    ...(await warnOfCurrencies(view, work)),
    ...(await warnOfPlacements(view, work)),
  ],
  beforeSave: (work, values, current) => requireApproval('campaigns', work, values, current),
  // Removing a campaign pauses its offers. Restoring the campaign resumes them.
  beforeRemove: (work, { id }) => setOffersActive(work, id, false, 'active'),
  afterRestore: (work, { id, deleted_at }) =>
    setOffersActive(work, id, true, 'not active and deleted_at is null and updated_at = $4', [deleted_at]),
};

/** Returns warnings about rules that contradict each other. Invalid rules are reported elsewhere. */
const warnOfContradictions = ({ rules }: View, { nowMs }: Work): Warning[] =>
  checkRules(rules).length === 0 ? contradictionsIn(rules as CampaignRules, nowMs) : [];

function warnOfUrls({ landing_url: url }: Values): Warning[] {
  return warnOfMacros('/landing_url', url, { names: landingMacros, others: 'emptied' });
}

const zoneOf = ({ rules }: Values): string | undefined => (rules as CampaignRules | null)?.schedule?.time_zone;

/**
 * Returns a check for the schedule's time zone. An unknown time zone is rejected only if it has changed, so that other
 * fields of the campaign can still be saved.
 */
const zoneRule = (current: View | null) => (zone: string) =>
  isKnownZone(zone) || (current !== null && zone === zoneOf(current));

/** Pauses or resumes the campaign's offers that match a condition. */
async function setOffersActive(
  work: Work,
  campaignId: unknown,
  active: boolean,
  condition: string,
  more: readonly unknown[] = [],
): Promise<void> {
  const { rows } = await work.executor.query<Values>(
    `update offers set active = $2, updated_at = $3 where campaign_id = $1 and ${condition}
    returning ${columnsOf(offers, work)}`,
    [campaignId, active, new Date(work.nowMs), ...more],
  );
  for (const row of rows) {
    const after = viewOf(row);
    await audit(work, { resource: offers, action: 'update', before: { ...after, active: !active }, after });
  }
}

/** Validates a goal. A deadline in the past is accepted only if the goal is unchanged. */
function checkGoal(goal: unknown): ErrorDetail[] {
  if (typeof goal !== 'object' || goal === null || !('by' in goal) || typeof goal.by !== 'string') return [];
  return Number.isNaN(timeOf(goal.by)) ? [{ path: '/goal/by', message: timeProblem }] : [];
}

/**
 * Returns warnings about missing exchange rates. They are needed because offers are ranked by payouts converted with
 * the publisher's rates.
 */
async function warnOfCurrencies(
  { id, payout_currency: currency }: View,
  { executor, publisherId, nowMs }: Work,
): Promise<Warning[]> {
  const { rows } = await executor.query<{ currencies: string[]; wanted: string | null; time_zone: string }>(
    `select array_agg(distinct k.payout_currency order by k.payout_currency) as currencies,
      coalesce(p.reporting_currency, p.rates_base) as wanted, p.time_zone
    from campaigns k join publishers p on p.id = k.publisher_id
    where k.publisher_id = $1 and k.id <> $2 and k.payout_currency <> $3 and k.active and k.deleted_at is null
    group by p.id`,
    [publisherId, id, currency],
  );
  const [others] = rows;
  if (others === undefined) return [];
  const day = new Date(nowMs + offsetMs(others.time_zone, nowMs)).toISOString().slice(0, 10);
  const rates = await loadExchangeRates(executor, publisherId);
  const isComparable = others.wanted !== null && exchangeOn(rates, String(currency), others.wanted, day) !== null;
  if (isComparable) return [];
  const list = others.currencies.join(', ');
  const message = problem('otherCurrency', { others: list });
  return [{ path: '/payout_currency', message }];
}

/** Returns warnings about placements that no request has used yet, because they may be misspelt. */
async function warnOfPlacements({ id, rules }: View, { executor, publisherId }: Work): Promise<Warning[]> {
  const { include = [], exclude = [] } = (rules as CampaignRules).targeting?.placements ?? {};
  const targetedPlacements = [
    ...include.map((name, index) => ({ name, path: `/rules/targeting/placements/include/${index}` })),
    ...exclude.map((name, index) => ({ name, path: `/rules/targeting/placements/exclude/${index}` })),
  ];
  if (targetedPlacements.length === 0) return [];
  const { rows } = await executor.query<{ name: string }>(
    `select distinct name from placements where name = any($3) and (publisher_id = $1
      or publisher_id in (select publisher_id from campaign_publishers where campaign_id = $2 and active))`,
    [publisherId, id, targetedPlacements.map(({ name }) => normaliseName(name))],
  );
  const existingNames = new Set(rows.map(({ name }) => name));
  return targetedPlacements
    .filter(({ name }) => !existingNames.has(normaliseName(name)))
    .map(({ name, path }) => ({ path, message: problem('neverSeen', { name }) }));
}

/** Rejects audiences that do not exist. An audience must be created before a campaign can refer to it. */
async function checkAudiences(rules: unknown, { executor, publisherId }: Work): Promise<ErrorDetail[]> {
  const { include, exclude } = (rules as CampaignRules | null)?.targeting?.audiences ?? {};
  const targetedAudiences = Object.entries({ include, exclude }).flatMap(([side, keys]) =>
    Array.isArray(keys) ? keys.map((key, at) => ({ key, path: `/rules/targeting/audiences/${side}/${at}` })) : [],
  );
  if (targetedAudiences.length === 0) return [];
  const { rows } = await executor.query<{ key: string }>(
    'select key from audiences where publisher_id = $1 and key = any($2) for share',
    [publisherId, targetedAudiences.map(({ key }) => String(key).replaceAll('\0', ''))],
  );
  const existingKeys = new Set(rows.map(({ key }) => key));
  return targetedAudiences
    .filter(({ key }) => !existingKeys.has(key))
    .map(({ key, path }) => ({ path, message: problem('noAudienceKey', { key: String(key) }) }));
}

import { namedValue, otherValue } from '../rollup/custom-attributes.ts';
import { countsSql, factsSql, longestDays, quarterOf, shownSql } from '../rollup/events.ts';
import { dayBit, dimensionBits, keptGrains } from '../rollup/grains.ts';
import { type DimensionName, dimensionNames, eachMetric } from './metrics.ts';
import type { ActivityQuery } from './query.ts';

/** What a dimension without a value is called, in answers and filters. */
export const unknownValue = 'unknown';

/** Where the answer of a query is read from. */
export type Source =
  | { kind: 'rollups'; grain: number }
  | { kind: 'custom'; key: string; grain: number }
  | { kind: 'raw' };

/** The columns of the dimensions, as every source has them; an own key is `value`. */
export const dimensionColumns: Record<DimensionName, string> = {
  placement: 'placement',
  campaign: 'campaign_id',
  offer: 'offer_id',
  country: 'country',
  device: 'device',
  os: 'os',
};

/**
 * The cheapest source that can answer. Raw rows are read only for what no rollup keeps: an own key beside other
 * dimensions,
 * and more than two dimensions by the hour.
 */
export function sourceOf({ groupBy, filters, customKey, customValues, aggregatedBy }: ActivityQuery): Source {
  const used = dimensionNames.filter((name) => groupBy.includes(name) || filters[name] !== undefined);
  const usesKey = customKey !== null && (groupBy.includes('custom') || customValues !== null);
  if (usesKey)
    return used.length === 0
      ? { kind: 'custom', key: customKey, grain: aggregatedBy === 'day' ? dayBit : 0 }
      : { kind: 'raw' };
  const mask = used.reduce((bits, name) => bits | dimensionBits[name], 0);
  const wanted = aggregatedBy === 'day' ? [mask | dayBit, mask] : [mask];
  const grain = wanted.find((candidate) => keptGrains.includes(candidate));
  return grain === undefined ? { kind: 'raw' } : { kind: 'rollups', grain };
}

/** Whether each row of the source is one of the answer, so that nothing has to be added up. */
export function hasOneRowEach(source: Source, { groupBy, filters, aggregatedBy }: ActivityQuery): boolean {
  if (source.kind !== 'rollups' || isOfHours(source, aggregatedBy)) return false;
  return dimensionNames.every(
    (name) =>
      name === 'campaign' ||
      (source.grain & dimensionBits[name]) === 0 ||
      groupBy.includes(name) ||
      filters[name]?.length === 1,
  );
}

/** Days are asked for, and there are hours: the sums without dimensions have no days. */
const isOfHours = ({ grain }: { grain: number }, aggregatedBy: ActivityQuery['aggregatedBy']): boolean =>
  aggregatedBy === 'day' && (grain & dayBit) === 0;

/** The day or hour, $4, of the zone, $5, in which a time is. */
const slotOf = (at: string): string => `date_trunc($4, ${at}, $5)`;

/**
 * A query's source as SQL: rows with `bucket`, the dimensions and the metrics, from $2 until before $3. Buckets are
 * days or hours as
 * asked for, $4, mostly of the zone, $5. Adds to `values`.
 */
export function sourceSql(source: Source, query: ActivityQuery, values: unknown[]): string {
  const given = (value: unknown): string => `$${values.push(value)}`;
  const inRange = 'bucket >= $2 and bucket < $3';
  const metrics = eachMetric((name) => name);
  const dimensions = Object.values(dimensionColumns).join(', ');
  if (source.kind === 'rollups')
    return `select ${isOfHours(source, query.aggregatedBy) ? `${slotOf('bucket')} as bucket` : 'bucket'}, ${dimensions}, ${metrics}
  from rollups where publisher_id = $1 and grain = ${source.grain} and ${inRange}${leadSql(source.grain, query)}${filterSql(query, given)}${ofCampaignsSql(query, given)}`;
  if (source.kind === 'custom')
    return `select bucket, value, ${metrics} from custom_rollups where publisher_id = $1 and key = ${given(source.key)} and grain = ${source.grain} and ${inRange}${filterSql(query, given)}`;
  const offers = (['offer', 'campaign'] as const).some(
    (name) => query.groupBy.includes(name) || query.filters[name] !== undefined,
  );
  return `
select ${slotOf('quarter')} as bucket, ${dimensions}, value,
  ${eachMetric((name) => (offers && /sessions$/.test(name) ? `shown as ${name}` : name))}
from (
  select ${quarterOf('at')} as quarter, ${dimensions}, ${namedValue(`custom ->> ${given(query.customKey ?? '')}`)} as value,
    ${shownSql}, ${countsSql}
  from (${factsSql(`t.publisher_id = $1 and t.day <= ${utcDay('$3')}`, `${utcDay('$2')} - ${longestDays}`, `${utcDay('$2')} - 1`)}) as facts
  where at >= $2 and at < $3 group by 1, 2, 3, 4, 5, 6, 7, 8
) as summed
where ${offers ? 'offer_id <> 0' : 'true'}${query.customKey === null ? '' : ' and value is not null'}${filterSql(query, given)}`;
}

/**
 * What a grain does not have is empty. Saying so leads through the index of filters, which begins with the device, the
 * country and
 * the offer; where the placement is asked for, the primary key is the shorter way.
 */
function leadSql(grain: number, { filters }: ActivityQuery): string {
  if (filters.placement !== undefined) return '';
  const empty = {
    [dimensionBits.device]: "device = ''",
    [dimensionBits.country]: "country = ''",
    [dimensionBits.offer]: 'offer_id = 0',
  };
  return Object.entries(empty)
    .filter(([bit]) => (grain & Number(bit)) === 0)
    .map(([, condition]) => ` and ${condition}`)
    .join('');
}

function filterSql({ filters, customValues }: ActivityQuery, given: (value: unknown) => string): string {
  const conditions = dimensionNames.flatMap((name) => {
    const wanted = filters[name];
    if (wanted === undefined) return [];
    return ` and ${dimensionColumns[name]} = any(${given(wanted.map((value) => (value === unknownValue ? '' : value)))})`;
  });
  if (customValues !== null) conditions.push(` and value = any(${given(customValues)})`);
  return conditions.join('');
}

/** Indexes know offers, not campaigns. */
function ofCampaignsSql({ filters: { campaign } }: ActivityQuery, given: (value: unknown) => string): string {
  if (campaign === undefined) return '';
  return ` and offer_id = any(array(
  select distinct offer_id from rollups where publisher_id = $1 and grain = ${dimensionBits.offer} and bucket >= $2 and bucket < $3
    and device = '' and country = '' and campaign_id = any(${given(campaign)})
))`;
}

const utcDay = (at: string): string => `(${at}::timestamptz at time zone 'UTC')::date`;

/** SQL of the value an own key is reported under: the most frequent ones of the range, the rest as `other`. */
export const topValuesSql = (limit: number): string => `
top as (select value from source group by value order by (value = '${otherValue}') desc, sum_exact(sessions) desc, value limit ${limit + 1})`;

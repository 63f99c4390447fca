import { type Static, Type } from '@sinclair/typebox';
import { normaliseName } from '../../catalog/names.ts';
import type { Publisher } from '../../catalog/types.ts';
import { AppError } from '../../platform/errors.ts';
import { type DayRange, readDayRange } from '../../platform/http/day-range.ts';
import type { KeyResources } from '../../platform/http/key-restrictions.ts';
import { noNul } from '../../platform/http/schemas.ts';
import { dayMs, dayOf, hourMs } from '../../platform/lib/time.ts';
import { offsetMs } from '../../platform/lib/time-zone.ts';
import { namesInstead } from '../../platform/lib/zone-names.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import { type DimensionName, dimensionNames } from '../metrics.ts';
import { userViewNames, viewNames } from '../view.ts';
import { unknownValue } from './source.ts';
import type { ActivityQuery, Aggregation, ReportRequest } from './types.ts';

const text = (description: string) => Type.Optional(Type.String({ maxLength: 2000, pattern: noNul, description }));

/**
 * Query parameters of the activity report (docs/reference/management.md#reports). All values are text. A repeated
 * parameter is invalid.
 */
export const activityQuery = Type.Object(
  {
    api_key: text('API key with `reports`.'),
    accountId: text('Same as `api_key`.'),
    from: text('First day, such as `2026-11-21`, in the time zone of the report. Defaults to `to`, or else yesterday.'),
    to: text('Last day. Defaults to yesterday, or to `from` if that is later.'),
    start_date: text('Same as `from`.'),
    end_date: text('Same as `to`.'),
    timezone: text("IANA time zone of days and hours, such as Europe/Berlin. Defaults to the publisher's time zone."),
    aggregated_by: Type.Optional(
      Type.Unsafe<Aggregation>({
        type: 'string',
        enum: ['hour', 'day', 'week', 'month'],
        description:
          'Length of the periods. Defaults to day. Weeks begin on Monday. `date` of a week or month is its first ' +
          'day.',
      }),
    ),
    group_by: text(
      'Dimensions to group by, separated by commas: placement, campaign, offer, country, device, os, and one ' +
        'custom attribute as `custom.KEY`. `date` has no effect, because every row has a date.',
    ),
    placement: text(
      'Placements to include, separated by commas. The other dimensions, and custom attributes by name or as ' +
        '`custom.KEY`, filter in the same way. A value without activity matches nothing.',
    ),
    campaign: text('Campaign IDs, separated by commas.'),
    offer: text('Offer IDs, separated by commas.'),
    country: text('ISO 3166-1 alpha-2 codes or `unknown`, separated by commas.'),
    device: text('Device types, such as mobile, tablet or desktop, separated by commas.'),
    os: text('Operating systems, such as ios, separated by commas.'),
    metrics: text(
      'Additional metrics, separated by commas: `reach` and `frequency` add the fields `reach`, `frequency` and ' +
        '`unknown_impressions`. Names of other metrics have no effect, because every report contains these metrics.',
    ),
    format: Type.Optional(
      Type.Unsafe<'json' | 'csv'>({
        type: 'string',
        enum: ['json', 'csv'],
        description: 'Format of the response. Defaults to the `Accept` header.',
      }),
    ),
  },
  { additionalProperties: Type.String({ maxLength: 2000, pattern: noNul }) },
);

export type ActivityParameters = Static<typeof activityQuery> & Record<string, string | undefined>;

/** Maximum length of a range in days, in general and for hourly reports. */
export const maxDays = 400;
export const maxDaysByHour = 31;
const maxGroups = 4;
/** Maximum number of custom attribute filters. */
const maxCustomFilters = 10;
const twice = problem('dimensionTwice');

export const isDimension = (name: string): name is DimensionName =>
  dimensionNames.some((dimension) => dimension === name);

const reserved: ReadonlySet<string> = new Set(Object.keys(activityQuery.properties));
const keyPattern = /^[A-Za-z0-9_.-]{1,64}$/;
const prefix = 'custom.';
/** Columns that every row has. If a custom attribute has the same name, its column keeps the prefix `custom.`. */
const otherColumns: ReadonlySet<string> = new Set(['date', 'hour', ...viewNames, ...userViewNames]);

const invalid = (path: string, message: Problem): AppError =>
  new AppError('invalid_request', { details: [{ path: `/${path}`, message }] });

/**
 * Returns the calendar day before today. It does not subtract 24 hours from the current time, because days with a clock
 * change are longer or shorter.
 */
const yesterdayIn = (timeZone: string, nowMs: number): string => dayOf(Date.parse(dateIn(timeZone, nowMs)) - dayMs);

type ReadOptions = {
  publisher: Publisher;
  nowMs: number;
  hasKey: (key: string) => Promise<boolean>;
  /** Resources that the API key can access, or null for all resources. The report is limited to them. */
  resources: KeyResources | null;
};

/**
 * Parses the report parameters. The prefix `custom.` may be omitted for custom attributes that the publisher has sent
 * before.
 * @throws AppError invalid_request, unknown_group_by
 */
export async function readActivity(
  parameters: ActivityParameters,
  { publisher, nowMs, hasKey, resources }: ReadOptions,
): Promise<ReportRequest> {
  const aggregatedBy = parameters.aggregated_by ?? 'day';
  const mostDays = aggregatedBy === 'hour' ? maxDaysByHour : maxDays;
  const timeZone = parameters.timezone || publisher.timeZone;
  const instead = parameters.timezone ? namesInstead(parameters.timezone) : null;
  if (instead !== null) throw invalid('timezone', problem('timeZone', { names: instead }));
  const days = { from: parameters.from ?? parameters.start_date, to: parameters.to ?? parameters.end_date };
  const range = readDayRange(days, yesterdayIn(timeZone, nowMs), mostDays);
  const names = readNames(parameters.group_by ?? '');
  const keys = new Set<string>();
  const choices = dimensionNames.join(', ');
  for (const name of names) {
    if (isDimension(name)) continue;
    const key = await customKeyOf(name, hasKey);
    if (key === null)
      throw new AppError('unknown_group_by', {
        details: [{ path: '/group_by', message: problem('noDimension', { name: name.slice(0, 64), names: choices }) }],
      });
    if (keys.has(key)) throw invalid('group_by', twice);
    keys.add(key);
  }
  const [groupKey = null] = keys;
  if (keys.size > 1) throw invalid('group_by', problem('oneAttribute'));
  const { customKey, customValues, otherCustom } = readCustomFilters(parameters, groupKey);
  return {
    hasUsers: readMetrics(parameters.metrics ?? ''),
    names: names.map((name) => (otherColumns.has(name) ? `${prefix}${name}` : name)),
    query: {
      publisherId: publisher.id,
      ...range,
      aggregatedBy,
      groupBy: names.map((name) => (isDimension(name) ? name : 'custom')),
      filters: keptTo(resources, readFilters(parameters)),
      customKey,
      customValues,
      otherCustom,
      timeZone,
      buckets: bucketsFor(timeZone, publisher.timeZone, range),
    },
  };
}

/**
 * Parses the additional metrics.
 * @returns whether to count unique users
 */
function readMetrics(list: string): boolean {
  const names = splitList(list);
  const unknown = names.find((name) => !viewNames.includes(name) && !userViewNames.includes(name));
  if (unknown !== undefined) throw invalid('metrics', problem('noMetric', { name: unknown.slice(0, 64) }));
  return names.some((name) => userViewNames.includes(name));
}

/**
 * Returns which stored buckets can be used for the requested time zone. Two zones can share hourly buckets if their
 * offsets differ by whole hours on every day of the range.
 */
function bucketsFor(timeZone: string, storedZone: string, { from, to }: DayRange): ActivityQuery['buckets'] {
  if (timeZone === storedZone) return 'day';
  for (let atMs = Date.parse(from) - dayMs; atMs <= Date.parse(to) + 2 * dayMs; atMs += dayMs)
    if ((offsetMs(timeZone, atMs) - offsetMs(storedZone, atMs)) % hourMs !== 0) return 'none';
  return 'hour';
}

/** Returns the custom attribute that a name refers to, or null if none exists. */
async function customKeyOf(name: string, hasKey: (key: string) => Promise<boolean>): Promise<string | null> {
  if (name.startsWith(prefix) && keyPattern.test(name.slice(prefix.length))) return name.slice(prefix.length);
  return keyPattern.test(name) && (await hasKey(name)) ? name : null;
}

type CustomFilters = {
  customKey: string | null;
  customValues: readonly string[] | null;
  otherCustom: NonNullable<ActivityQuery['otherCustom']>;
};

/**
 * Parses the filters by custom attributes. An attribute that the publisher has never sent matches nothing.
 * @param groupKey attribute to group by, or null
 */
function readCustomFilters(parameters: ActivityParameters, groupKey: string | null): CustomFilters {
  const byKey = new Map<string, string[]>();
  for (const [name, value] of Object.entries(parameters)) {
    if (reserved.has(name) || value === undefined) continue;
    const key = name.startsWith(prefix) ? name.slice(prefix.length) : name;
    if (!keyPattern.test(key)) throw invalid(name.slice(0, 64), problem('unknownParameter'));
    const values = splitList(value);
    if (values.length > 0) byKey.set(key, [...(byKey.get(key) ?? []), ...values]);
  }
  if (byKey.size > maxCustomFilters)
    throw invalid('group_by', problem('maxAttributeFilters', { max: maxCustomFilters }));
  const customKey = groupKey ?? [...byKey.keys()][0] ?? null;
  const customValues = customKey === null ? null : (byKey.get(customKey) ?? null);
  const others = [...byKey].filter(([key]) => key !== customKey);
  return { customKey, customValues, otherCustom: others.map(([key, values]) => ({ key, values })) };
}

function readNames(groupBy: string): string[] {
  const names = splitList(groupBy).filter((name) => name !== 'date');
  if (names.length > maxGroups) throw invalid('group_by', problem('maxDimensions', { max: maxGroups }));
  if (new Set(names).size !== names.length) throw invalid('group_by', twice);
  return names;
}

const splitList = (list: string): string[] =>
  list
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

function readFilters(parameters: ActivityParameters): ActivityQuery['filters'] {
  const filters: Partial<Record<DimensionName, (string | number)[]>> = {};
  for (const name of dimensionNames) {
    const values = splitList(parameters[name] ?? '');
    if (values.length === 0) continue;
    filters[name] = values.map((value) => {
      const read = filterValue(name, value);
      if (read === null) throw invalid(name, problem('idList'));
      return read;
    });
  }
  return filters;
}

/**
 * Limits the filters to the resources that the API key can access.
 * @throws AppError permission_denied if a filter contains a resource that the key cannot access
 */
function keptTo(resources: KeyResources | null, filters: ActivityQuery['filters']): ActivityQuery['filters'] {
  if (resources === null) return filters;
  const { campaigns: campaign, placements: placement } = resources;
  const allowed = { ...filters };
  for (const [name, own] of Object.entries({ campaign, placement })) {
    if (own === null) continue;
    const values: readonly unknown[] = filters[name as DimensionName] ?? [];
    if (values.some((value) => !(own as ReadonlySet<unknown>).has(value)))
      throw new AppError('permission_denied', {
        message: problem('keyOfOtherResources'),
        details: [{ path: `/${name}`, message: problem('noneOfKey') }],
      });
    if (values.length === 0) allowed[name as DimensionName] = [...own];
  }
  return allowed;
}

/**
 * Converts a dimension's filter value to its stored form. Returns null if the dimension requires an ID but the value is
 * not one.
 */
export function filterValue(name: DimensionName, value: string): string | number | null {
  if (name === 'placement') return normaliseName(value);
  if (name === 'country') return value.toLowerCase() === unknownValue ? unknownValue : value.toUpperCase();
  if (name === 'device' || name === 'os') return value.toLowerCase();
  return /^\d{1,9}$/.test(value) ? Number(value) : null;
}

/** Returns the current day in a time zone, or in UTC if the zone is unknown. */
export function dateIn(timeZone: string, atMs: number): string {
  const format = (zone: string): string =>
    new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(
      atMs,
    );
  try {
    return format(timeZone);
  } catch {
    return format('UTC');
  }
}

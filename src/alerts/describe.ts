import type { Alert } from './kinds.ts';

/** An alert in words. `path` is that of the page to look at, below the publisher's pages of the dashboard. */
export type AlertText = { title: string; reason: string; path: string };

const disabledBecause: Readonly<Record<string, string>> = {
  gone: 'It answered 410: it wants no more deliveries.',
  asked: 'Its answer asked to be disabled.',
  failing: 'It failed for days.',
};

const text = (value: unknown): string => (typeof value === 'string' ? value : String(value ?? ''));

/** A time in the publisher's zone. */
function timeIn(timeZone: string, at: unknown): string {
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone });
  return `${format.format(new Date(text(at)))} (${timeZone})`;
}

const number = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 2 });

/** An amount; in a currency where one is known. */
const amount = (value: unknown, currency: unknown): string =>
  typeof currency === 'string'
    ? new Intl.NumberFormat('en-GB', { style: 'currency', currency }).format(Number(value))
    : number.format(Number(value));

const percent = new Intl.NumberFormat('en-GB', { style: 'percent', maximumFractionDigits: 1 });

/** Title, reason and page of an alert. */
export function describe({ kind, data }: Pick<Alert, 'kind' | 'data'>, timeZone: string): AlertText {
  if (kind.startsWith('endpoint.')) return describeEndpoint(kind, data, timeZone);
  if (kind.startsWith('placement.')) return describePlacement(kind, data, timeZone);
  const path = `/campaigns/${Number(data.campaign_id)}`;
  const name = text(data.name);
  if (kind === 'campaign.ended')
    return {
      title: `Campaign ended: ${name}`,
      reason: `Its schedule ended on ${timeIn(timeZone, data.ended_at)}.`,
      path,
    };
  const per = data.per === 'lifetime' ? 'in all' : `for this ${text(data.per)}`;
  const limit = amount(data.limit, data.currency);
  if (kind === 'budget.80')
    return { title: `80% of a budget used: ${name}`, reason: `At least 80% of ${limit} ${per} are used.`, path };
  return {
    title: `Budget used up: ${name}`,
    reason: `All of ${limit} ${per} is used; it is not shown until then.`,
    path,
  };
}

function describeEndpoint(kind: string, data: Alert['data'], timeZone: string): AlertText {
  const name = text(data.description) || text(data.url);
  const path = `/settings/webhooks/${Number(data.endpoint_id)}`;
  if (kind === 'endpoint.recovered')
    return { title: `Webhook endpoint works again: ${name}`, reason: 'A call succeeded.', path };
  if (kind === 'endpoint.disabled')
    return {
      title: `Webhook endpoint disabled: ${name}`,
      reason: `${disabledBecause[text(data.reason)] ?? ''} Its deliveries are held until it is enabled again.`.trim(),
      path,
    };
  const failures = `${Number(data.failures)} calls in a row have failed`;
  return {
    title: `Webhook endpoint failing: ${name}`,
    reason: `${failures} since ${timeIn(timeZone, data.failing_since)}. Deliveries are retried.`,
    path,
  };
}

function describePlacement(kind: string, data: Alert['data'], timeZone: string): AlertText {
  const placement = text(data.placement);
  const [now, before] = [Number(data.now), Number(data.before)];
  const isRevenue = kind === 'placement.revenue';
  const metric = isRevenue ? 'revenue' : 'fill_rate';
  const format = (value: number): string => (isRevenue ? amount(value, data.currency) : percent.format(value));
  const query = new URLSearchParams({ range: 'today', compare: 'week', by: 'campaign', placement, metric });
  return {
    title: `${isRevenue ? 'Revenue' : 'Fill rate'} of ${placement} down by ${percent.format(1 - now / before)}`,
    reason:
      `${format(now)} in the ${Number(data.hours)} hours until ${timeIn(timeZone, data.until)}; ` +
      `in the same hours of last week ${format(before)}.`,
    path: `/reports?${query}`,
  };
}

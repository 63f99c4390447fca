import { type Catalogue, type Part, parts } from './catalogue.ts';
import type { Client } from './client.ts';

const dayMs = 86_400_000;

/** Returns the first and last day of a range that contains the whole journey, even around midnight. */
export const days = (): { from: string; to: string } => ({
  from: new Date(Date.now() - dayMs).toISOString().slice(0, 10),
  to: new Date(Date.now() + dayMs).toISOString().slice(0, 10),
});

const inDays = (path: string): string => `${path}?${new URLSearchParams(days())}`;

const metrics = ['impressions', 'clicks', 'no_thanks', 'closes', 'selections', 'conversions', 'revenue'] as const;
type Counts = Partial<Record<(typeof metrics)[number], number>>;
type ReportRow = Record<(typeof metrics)[number], number> & { campaign: number };

export type Report = Record<Part, Counts>;

/** Returns the report metrics of each part of the journey, without zeros. */
export async function reportOf(client: Client, catalogue: Catalogue): Promise<Report> {
  const path = `${inDays('/native/activity.json')}&group_by=campaign`;
  const { rows } = await client.manage<{ rows: ReportRow[] }>('GET', path);
  const countsOf = (part: Part): Counts => {
    const own = rows.filter(({ campaign }) => campaign === catalogue[part]);
    const sums = metrics.map((name) => [name, own.reduce((sum, row) => sum + row[name], 0)] as const);
    return Object.fromEntries(sums.filter(([, sum]) => sum !== 0));
  };
  return Object.fromEntries(parts.map((part) => [part, countsOf(part)])) as Report;
}

export type Reconciled = {
  sessions: number;
  filled_sessions: number;
  offers_served: number;
  events: Record<string, number>;
  suspicious: Record<string, Record<string, number>>;
  balanced: boolean;
};

export const reconciliationOf = (client: Client): Promise<Reconciled> =>
  client.manage('GET', inDays('/native/reconciliation.json'));

/** Returns the reconciliation of the webhook deliveries. */
export async function balanceOf(client: Client): Promise<{ created: number; delivered: number; balanced: boolean }> {
  const { created, delivered, balanced } = await client.manage<Awaited<ReturnType<typeof balanceOf>>>(
    'GET',
    inDays('/manage/v1/deliveries/balance'),
  );
  return { created, delivered, balanced };
}

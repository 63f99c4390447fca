import type { Snapshot } from '../catalog/types.ts';
import type { Work } from '../management/unit-of-work.ts';
import type { ReportService } from '../reports/service.ts';
import { readCampaigns, readCarriers } from './scope.ts';

export const reportGroups = ['campaign', 'date', 'publisher'] as const;
export type ReportGroup = (typeof reportGroups)[number];

/** Metrics that an advertiser can see. Metrics that also count other offers are excluded. */
export const counts = ['impressions', 'clicks', 'conversions'] as const;
export const money = ['revenue_micros', 'unbilled_micros'] as const;
type Sums = Record<(typeof counts)[number] | (typeof money)[number], number>;

/**
 * Report row. `id` is the campaign or publisher ID, or null for a day. Amounts in different currencies are in separate
 * rows.
 */
export type ReportLine = { id: number | null; name: string; currency: string; sums: Sums };

type Sources = { reports: { activity: ReportService['activity'] }; catalog: { current: () => Snapshot } };

/** An advertiser's campaigns that the actor may see, and the publishers that serve them. */
export type ReportScope = {
  campaigns: ReadonlyMap<number, { name: string; currency: string }>;
  publishers: ReadonlyMap<number, string>;
};

/** Reads the scope of a report. The scope includes removed campaigns, because their results remain in reports. */
export async function readReportScope(work: Work, advertiserId: number): Promise<ReportScope> {
  const campaigns = await readCampaigns(work, advertiserId);
  const carriers = await readCarriers(work, [...campaigns.keys()]);
  return { campaigns, publishers: new Map([...carriers.values()].flat().map(({ id, name }) => [id, name])) };
}

/**
 * Adds up the results of an advertiser's campaigns at all publishers that run them. Days begin and end in each
 * publisher's time zone.
 * @throws AppError invalid_request, report_too_large, unavailable
 */
export async function readReport(
  { reports, catalog }: Sources,
  { campaigns, publishers }: ReportScope,
  { by, from, to }: { by: ReportGroup; from: string; to: string },
  signal?: AbortSignal,
): Promise<ReportLine[]> {
  const resources = { campaigns: new Set(campaigns.keys()), placements: null };
  const lines = new Map<string, ReportLine>();
  for (const [publisherId, publisherName] of publishers) {
    const publisher = catalog.current().publishers.get(publisherId);
    if (publisher === undefined) continue;
    const parameters = { from, to, group_by: 'campaign' };
    const { rows } = await reports.activity(publisher, parameters, { resources, signal });
    for (const { time, group, metrics } of rows) {
      const campaignId = Number(group[0]);
      const { name = '', currency = '' } = campaigns.get(campaignId) ?? {};
      const labels = {
        campaign: { id: campaignId, name },
        date: { id: null, name: time },
        publisher: { id: publisherId, name: publisherName },
      }[by];
      const add = (of: string, part: Partial<Sums>): void => {
        const key = `${labels.id ?? labels.name} ${of}`;
        const line = lines.get(key) ?? { ...labels, currency: of, sums: noSums() };
        lines.set(key, { ...line, sums: added(line.sums, part) });
      };
      // Counts are added to the row of the campaign's currency. Amounts booked in another currency get a separate row.
      add(currency, { impressions: metrics.impressions, clicks: metrics.clicks, conversions: metrics.conversions });
      for (const { currency: booked, revenueMicros, unbilledMicros } of metrics.money)
        add(booked, { revenue_micros: revenueMicros, unbilled_micros: unbilledMicros });
    }
  }
  return [...lines.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const noSums = (): Sums => ({ impressions: 0, clicks: 0, conversions: 0, revenue_micros: 0, unbilled_micros: 0 });

const added = (sums: Sums, part: Partial<Sums>): Sums =>
  Object.fromEntries(
    Object.entries(sums).map(([name, value]) => [name, value + (part[name as keyof Sums] ?? 0)]),
  ) as Sums;

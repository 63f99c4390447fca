import type { Publisher, Snapshot } from '../types.ts';
import { sortRows } from './on-demand.ts';
import type { CatalogRows } from './rows.ts';

/** Returns the rows that decide which offers a publisher shows. */
export function rowsOfPublisher(
  rows: CatalogRows,
  { id: publisherId, index }: Publisher,
  offersByCampaign: Snapshot['offersByCampaign'],
): CatalogRows {
  sortRows(rows);
  const campaigns = new Map(index.offers.map(({ campaign }) => [campaign.id, campaign.publisherId]));
  const campaignIds = [...campaigns.keys()].sort((a, b) => a - b);
  const offerIds = campaignIds
    .flatMap((id) => (offersByCampaign.get(id) ?? []).map((offer) => offer.id))
    .sort((a, b) => a - b);
  // Total caps use the time zones of the campaigns' owners.
  const publisherIds = new Set([publisherId, ...campaigns.values()]);
  const isOwn = ({ publisher_id: id }: { publisher_id: number }): boolean => id === publisherId;
  return {
    ...rows,
    campaigns: rowsWith(rows.campaigns, ({ id }) => id, campaignIds),
    provisions: rowsWith(rows.provisions, (row) => row.campaign_id, campaignIds),
    offers: rowsWith(rows.offers, ({ id }) => id, offerIds),
    creatives: rowsWith(rows.creatives, (row) => row.offer_id, offerIds),
    publishers: rows.publishers.filter(({ id }) => publisherIds.has(id)),
    themes: rows.themes.filter(isOwn),
    placements: rows.placements.filter(isOwn),
    audiences: (rows.audiences ?? []).filter(isOwn),
    sequenceRules: rows.sequenceRules.filter(isOwn),
    experiments: (rows.experiments ?? []).filter(isOwn),
    exchangeRates: (rows.exchangeRates ?? []).filter(isOwn),
  };
}

/** Returns the rows with the given keys from rows that are sorted by the key. */
function rowsWith<Row>(rows: readonly Row[], keyOf: (row: Row) => number, keys: readonly number[]): Row[] {
  const matching: Row[] = [];
  for (const key of keys) {
    let [at, end] = [0, rows.length];
    while (at < end) {
      const middle = (at + end) >> 1;
      if (keyOf(rows[middle] as Row) < key) at = middle + 1;
      else end = middle;
    }
    for (let row = rows[at]; row !== undefined && keyOf(row) === key; row = rows[++at]) matching.push(row);
  }
  return matching;
}

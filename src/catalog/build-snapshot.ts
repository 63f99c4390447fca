import { type Pause, runInSlices } from '../platform/lib/slices.ts';
import { toCampaign, toExperiment, toKey, toOffer, toPublisher, toSequenceRule } from './snapshot/convert.ts';
import type { CampaignRow, CatalogRows, CreativeRow, OfferRow } from './snapshot-rows.ts';
import type { BuildIndex, Offer, Publisher, Snapshot } from './types.ts';

/** An earlier snapshot, and the campaigns whose rows may have changed since. */
type Base = { snapshot: Snapshot; changed: ReadonlySet<number> };

export type BuildOptions = {
  rows: CatalogRows;
  buildIndex: BuildIndex;
  /** Earlier snapshot to share unchanged campaigns, offers and indexes with. */
  base?: Base | null;
  pause?: Pause;
};

/**
 * Turns rows into an immutable snapshot. It works in slices of a few milliseconds so that requests are still served:
 * 10,000 offers take most of a second.
 */
export async function buildSnapshot({ rows, buildIndex, base = null, pause }: BuildOptions): Promise<Snapshot> {
  const { offers, provisioned } = await runInSlices(buildOffers(rows, base), pause);
  const publishers = await runInSlices(buildPublishers(rows, provisioned, buildIndex, base), pause);
  return {
    version: rows.version,
    publishers,
    publishersBySdkId: new Map([...publishers.values()].map((publisher) => [publisher.sdkId, publisher])),
    keys: new Map(rows.keys.map((row) => [row.key_hash, toKey(row)])),
    offers,
  };
}

/** Number of campaigns built between two pauses. */
const sliceSize = 200;

type Offers = {
  offers: Map<number, Offer>;
  /** Offers by the publishers they are provisioned to, without removed offers. */
  provisioned: Map<number, Offer[]>;
};

function* buildOffers(rows: CatalogRows, base: Base | null): Generator<void, Offers> {
  const earlier = base === null ? null : groupBy([...base.snapshot.offers.values()], ({ campaign }) => campaign.id);
  yield;
  const build = yield* campaignBuilder(rows, base);
  const offers = new Map<number, Offer>();
  const provisioned = new Map<number, Offer[]>();
  const removed = new Set(rows.offers.filter((row) => row.deleted_at !== null).map(({ id }) => id));
  for (const [done, row] of rows.campaigns.entries()) {
    if (done % sliceSize === 0) yield;
    const isUnchanged = base !== null && !base.changed.has(row.id);
    for (const offer of isUnchanged ? (earlier?.get(row.id) ?? []) : build(row)) {
      offers.set(offer.id, offer);
      if (row.deleted_at !== null || removed.has(offer.id)) continue;
      for (const publisherId of offer.campaign.provisions.keys()) appendTo(provisioned, publisherId, offer);
    }
  }
  return { offers, provisioned };
}

/**
 * Groups the rows of changed campaigns.
 * @returns a function that builds the offers of one campaign
 */
function* campaignBuilder(rows: CatalogRows, base: Base | null): Generator<void, (row: CampaignRow) => Offer[]> {
  const mayDiffer = (campaignId: number): boolean => base === null || base.changed.has(campaignId);
  const offerRows = rows.offers.filter((row) => mayDiffer(row.campaign_id));
  const offerIds = new Set(offerRows.map(({ id }) => id));
  const offersByCampaign = groupBy(offerRows, (row) => row.campaign_id);
  yield;
  const creativesByOffer = groupBy(
    rows.creatives.filter((row) => offerIds.has(row.offer_id)),
    (row) => row.offer_id,
  );
  yield;
  const provisionsByCampaign = groupBy(
    rows.provisions.filter((row) => mayDiffer(row.campaign_id)),
    (row) => row.campaign_id,
  );
  return (row) => {
    const ownOffers = offersByCampaign.get(row.id) ?? [];
    const creativesOf = ({ id }: OfferRow): CreativeRow[] => creativesByOffer.get(id) ?? [];
    const campaign = toCampaign(row, ownOffers.flatMap(creativesOf), provisionsByCampaign.get(row.id) ?? []);
    return ownOffers.map((offer) => toOffer(offer, campaign, creativesOf(offer)));
  };
}

function* buildPublishers(
  rows: CatalogRows,
  provisioned: ReadonlyMap<number, Offer[]>,
  buildIndex: BuildIndex,
  base: Base | null,
): Generator<void, Map<number, Publisher>> {
  const themes = groupBy(rows.themes, (row) => row.publisher_id);
  const placements = groupBy(rows.placements, (row) => row.publisher_id);
  const audiences = groupBy(rows.audiences ?? [], (row) => row.publisher_id);
  const exchangeRates = groupBy(rows.exchangeRates ?? [], (row) => row.publisher_id);
  const sequenceRules = groupBy(rows.sequenceRules, (row) => row.publisher_id);
  const experiments = groupBy(rows.experiments ?? [], (row) => row.publisher_id);
  const timeZones = new Map(rows.publishers.map((row) => [row.id, row.time_zone]));
  const timeZoneOf = (publisherId: number): string => timeZones.get(publisherId) ?? 'UTC';
  const earlier = base !== null && hasTimeZones(base.snapshot.publishers, timeZones) ? base.snapshot.publishers : null;
  const publishers = new Map<number, Publisher>();
  for (const row of rows.publishers) {
    const before = base?.snapshot.publishers.get(row.id) ?? null;
    const publisher = toPublisher(
      row,
      themes.get(row.id) ?? [],
      placements.get(row.id) ?? [],
      audiences.get(row.id) ?? [],
      exchangeRates.get(row.id) ?? [],
      before,
    );
    const offers = provisioned.get(row.id) ?? [];
    const isSame = before?.controls === publisher.controls && before?.language.key === publisher.language.key;
    const index = isSame ? earlier?.get(row.id)?.index : undefined;
    publishers.set(row.id, {
      ...publisher,
      index:
        index !== undefined && isSameList(index.offers, offers)
          ? index
          : yield* buildIndex({ publisher, offers, timeZoneOf }),
      sequenceRules: (sequenceRules.get(row.id) ?? []).map(toSequenceRule),
      experiments: experiments.get(row.id)?.map(toExperiment) ?? null,
    });
  }
  return publishers;
}

/**
 * Whether the time zones of all publishers are unchanged. An index depends on them: the caps of a campaign count in the
 * time zone of its owner.
 */
const hasTimeZones = (publishers: ReadonlyMap<number, Publisher>, timeZones: ReadonlyMap<number, string>): boolean =>
  publishers.size === timeZones.size &&
  [...publishers.values()].every(({ id, timeZone }) => timeZones.get(id) === timeZone);

const isSameList = (a: readonly Offer[], b: readonly Offer[]): boolean =>
  a.length === b.length && a.every((offer, at) => offer === b[at]);

function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => number): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) appendTo(groups, keyOf(row), row);
  return groups;
}

function appendTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

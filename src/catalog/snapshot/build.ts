import type { BuildIndex, Offer, Publisher, Snapshot } from '../types.ts';
import { toCampaign, toExperiment, toOffer, toPublisher, toSequenceRule } from './convert.ts';
import type { CampaignRows, Changes } from './load.ts';
import { notLoaded } from './on-demand.ts';
import type { CampaignRow, CatalogRows, CreativeRow, OfferRow, PublisherRow } from './rows.ts';

/** Earlier snapshot to reuse, with the campaigns and publishers whose rows may have changed since then. */
export type Base = { snapshot: Snapshot; changed: Changes };

/** Number of campaigns or publishers to build before yielding to other requests. */
const sliceSize = 200;

export type BuiltOffers = {
  offers: Map<number, Offer>;
  /** All offers by campaign ID. */
  byCampaign: Map<number, readonly Offer[]>;
  /** Offers by campaign ID, without removed offers. The entries are ordered by campaign ID. */
  present: Map<number, readonly Offer[]>;
};

/** Builds the offers of campaigns. Offers of campaigns that have not changed since the base snapshot are reused. */
export function* buildOffers(rows: CampaignRows, base: Base | null): Generator<void, BuiltOffers> {
  const build = yield* campaignBuilder(rows, base);
  const offers = new Map<number, Offer>();
  const byCampaign = new Map<number, readonly Offer[]>();
  const present = new Map<number, readonly Offer[]>();
  const removed = new Set(rows.offers.filter((row) => row.deleted_at !== null).map(({ id }) => id));
  for (const [done, row] of rows.campaigns.entries()) {
    if (done % sliceSize === 0) yield;
    const isUnchanged = base !== null && !base.changed.campaigns.has(row.id);
    const ownOffers = isUnchanged ? (base.snapshot.offersByCampaign.get(row.id) ?? []) : build(row);
    for (const offer of ownOffers) offers.set(offer.id, offer);
    byCampaign.set(row.id, ownOffers);
    const isRemoved = ({ id }: Offer): boolean => removed.has(id);
    if (row.deleted_at !== null) present.set(row.id, []);
    else present.set(row.id, ownOffers.some(isRemoved) ? ownOffers.filter((offer) => !isRemoved(offer)) : ownOffers);
  }
  return { offers, byCampaign, present };
}

/** Groups offers by the publishers to which they are provisioned. Publishers that are not loaded are left out. */
export function* groupByPublisher(
  present: BuiltOffers['present'],
  isLoaded: (publisherId: number) => boolean,
): Generator<void, Map<number, Offer[]>> {
  const provisioned = new Map<number, Offer[]>();
  let done = 0;
  for (const offers of present.values()) {
    done += 1;
    if (done % sliceSize === 0) yield;
    for (const offer of offers)
      for (const publisherId of offer.campaign.provisions.keys())
        if (isLoaded(publisherId)) appendTo(provisioned, publisherId, offer);
  }
  return provisioned;
}

/**
 * Groups the rows of changed campaigns.
 * @returns a function that builds the offers of a campaign
 */
function* campaignBuilder(rows: CampaignRows, base: Base | null): Generator<void, (row: CampaignRow) => Offer[]> {
  const mayDiffer = (campaignId: number): boolean => base === null || base.changed.campaigns.has(campaignId);
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

type PublisherSources = {
  rows: CatalogRows;
  /** Offers by the publisher to which they are provisioned. */
  provisioned: ReadonlyMap<number, Offer[]>;
  buildIndex: BuildIndex;
  base: Base | null;
  /** Returns whether the campaigns of a publisher are loaded. Other publishers get no index. */
  isLoaded: (publisherId: number) => boolean;
};

/** Builds the publishers. Publishers whose settings and offers have not changed since the base snapshot are reused. */
export function* buildPublishers({
  rows,
  provisioned,
  buildIndex,
  base,
  isLoaded,
}: PublisherSources): Generator<void, Map<number, Publisher>> {
  const mayDiffer = (publisherId: number): boolean => base === null || base.changed.publishers.has(publisherId);
  const groups = <Row extends { publisher_id: number }>(list: readonly Row[] = []): Map<number, Row[]> =>
    groupBy(
      list.filter((row) => mayDiffer(row.publisher_id)),
      (row) => row.publisher_id,
    );
  const themes = groups(rows.themes);
  const placements = groups(rows.placements);
  const audiences = groups(rows.audiences);
  const exchangeRates = groups(rows.exchangeRates);
  const sequenceRules = groups(rows.sequenceRules);
  const experiments = groups(rows.experiments);
  const timeZones = new Map(rows.publishers.map((row) => [row.id, row.time_zone]));
  const timeZoneOf = (publisherId: number): string => timeZones.get(publisherId) ?? 'UTC';
  const earlier = base !== null && hasTimeZones(base.snapshot.publishers, timeZones) ? base.snapshot.publishers : null;
  const build = (row: PublisherRow, before: Publisher | null): Omit<Publisher, 'index'> => ({
    ...toPublisher(
      row,
      themes.get(row.id) ?? [],
      placements.get(row.id) ?? [],
      audiences.get(row.id) ?? [],
      exchangeRates.get(row.id) ?? [],
      before,
    ),
    sequenceRules: (sequenceRules.get(row.id) ?? []).map(toSequenceRule),
    experiments: experiments.get(row.id)?.map(toExperiment) ?? null,
  });
  const publishers = new Map<number, Publisher>();
  for (const [done, row] of rows.publishers.entries()) {
    if (done % sliceSize === 0) yield;
    const before = base?.snapshot.publishers.get(row.id) ?? null;
    const publisher = before === null || mayDiffer(row.id) ? build(row, before) : before;
    if (!isLoaded(row.id)) {
      publishers.set(row.id, { ...publisher, index: notLoaded });
      continue;
    }
    const offers = provisioned.get(row.id) ?? [];
    const isSame = before?.controls === publisher.controls && before?.language.key === publisher.language.key;
    const earlierIndex = isSame ? earlier?.get(row.id)?.index : undefined;
    const isReused = earlierIndex !== undefined && isSameList(earlierIndex.offers, offers);
    const index = isReused ? earlierIndex : yield* buildIndex({ publisher, offers, timeZoneOf });
    publishers.set(row.id, publisher === before && index === before.index ? before : { ...publisher, index });
  }
  return publishers;
}

/**
 * Whether the time zones of all publishers are unchanged. If not, indexes cannot be reused, because campaign caps use
 * the time zone of the campaign's owner.
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

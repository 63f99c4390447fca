import { buildIndex, type EligibilityIndex } from '../../decision/index/eligibility.ts';
import { toCampaign, toKey, toOffer, toPublisher, toSequenceRule } from './convert.ts';
import type { CampaignRow, CatalogRows, CreativeRow, OfferRow } from './rows.ts';
import type { Offer, Publisher, Snapshot } from './types.ts';

/** Lets others work. */
export type Pause = () => Promise<void>;

const nextTurn: Pause = () => new Promise((resolve) => setImmediate(resolve));

/** An earlier snapshot, and the campaigns of which any row may be another since then. */
export type Base = { snapshot: Snapshot; changed: ReadonlySet<number> };

/**
 * Turns rows into the immutable snapshot, in slices of a few milliseconds: 10,000 offers take a good part of a second
 * of
 * work, which must not keep requests waiting. Nothing sees the snapshot before it is whole. What has not changed since
 * `base` is shared with it: campaigns, offers, and the index of a publisher to whom all is the same.
 */
export async function buildSnapshot(
  rows: CatalogRows,
  base: Base | null = null,
  pause: Pause = nextTurn,
): Promise<Snapshot> {
  const { offers, provisioned } = await inSlices(buildOffers(rows, base), pause);
  const publishers = await inSlices(buildPublishers(rows, provisioned, base), pause);
  return {
    version: rows.version,
    publishers,
    publishersBySdkId: new Map([...publishers.values()].map((publisher) => [publisher.sdkId, publisher])),
    keys: new Map(rows.keys.map((row) => [row.key_hash, toKey(row)])),
    offers,
  };
}

async function inSlices<T>(work: Generator<void, T>, pause: Pause): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await pause();
  }
}

/** Campaigns and offers worked on between two pauses. */
const sliceSize = 200;

type Offers = {
  offers: Map<number, Offer>;
  /** What is not removed, by the publishers it is provisioned to. */
  provisioned: Map<number, Offer[]>;
};

function* buildOffers(rows: CatalogRows, base: Base | null): Generator<void, Offers> {
  const kept = base === null ? null : groupBy([...base.snapshot.offers.values()], ({ campaign }) => campaign.id);
  yield;
  const build = yield* campaignBuilder(rows, base);
  const offers = new Map<number, Offer>();
  const provisioned = new Map<number, Offer[]>();
  const removed = new Set(rows.offers.filter((row) => row.deleted_at !== null).map(({ id }) => id));
  for (const [done, row] of rows.campaigns.entries()) {
    if (done % sliceSize === 0) yield;
    const isKept = base !== null && !base.changed.has(row.id);
    for (const offer of isKept ? (kept?.get(row.id) ?? []) : build(row)) {
      offers.set(offer.id, offer);
      if (row.deleted_at !== null || removed.has(offer.id)) continue;
      for (const publisherId of offer.campaign.provisions.keys()) listUnder(provisioned, publisherId, offer);
    }
  }
  return { offers, provisioned };
}

/** Gathers what campaigns are built of. @returns builds the offers of one, as far as it may differ from `base` */
function* campaignBuilder(rows: CatalogRows, base: Base | null): Generator<void, (row: CampaignRow) => Offer[]> {
  const isMeant = (campaignId: number): boolean => base === null || base.changed.has(campaignId);
  const offerRows = rows.offers.filter((row) => isMeant(row.campaign_id));
  const meant = new Set(offerRows.map(({ id }) => id));
  const offersByCampaign = groupBy(offerRows, (row) => row.campaign_id);
  yield;
  const creativesByOffer = groupBy(
    rows.creatives.filter((row) => meant.has(row.offer_id)),
    (row) => row.offer_id,
  );
  yield;
  const provisionsByCampaign = groupBy(
    rows.provisions.filter((row) => isMeant(row.campaign_id)),
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
  base: Base | null,
): Generator<void, Map<number, Publisher>> {
  const themes = groupBy(rows.themes, (row) => row.publisher_id);
  const placements = groupBy(rows.placements, (row) => row.publisher_id);
  const sequenceRules = groupBy(rows.sequenceRules, (row) => row.publisher_id);
  const zones = new Map(rows.publishers.map((row) => [row.id, row.time_zone]));
  const zoneOf = (publisherId: number): string => zones.get(publisherId) ?? 'UTC';
  const known = base !== null && sameZones(base.snapshot.publishers, zones) ? base.snapshot.publishers : null;
  const publishers = new Map<number, Publisher>();
  for (const row of rows.publishers) {
    const publisher = toPublisher(row, themes.get(row.id) ?? [], placements.get(row.id) ?? []);
    const offers = provisioned.get(row.id) ?? [];
    const index = known?.get(row.id)?.index;
    publishers.set(row.id, {
      ...publisher,
      index: index !== undefined && isOf(index, offers) ? index : yield* buildIndex({ publisher, offers, zoneOf }),
      sequenceRules: (sequenceRules.get(row.id) ?? []).map(toSequenceRule),
    });
  }
  return publishers;
}

/** Days and hours of caps and schedules are those of publishers' time zones, also of another's campaign. */
const sameZones = (publishers: ReadonlyMap<number, Publisher>, zones: ReadonlyMap<number, string>): boolean =>
  publishers.size === zones.size && [...publishers.values()].every(({ id, timeZone }) => zones.get(id) === timeZone);

/** Whether an index was made of exactly these offers. */
function isOf({ candidates, withheld }: EligibilityIndex, offers: readonly Offer[]): boolean {
  if (candidates.length + withheld.length !== offers.length) return false;
  const indexed = new Set([...candidates, ...withheld].map(({ offer }) => offer));
  return offers.every((offer) => indexed.has(offer));
}

function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => number): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) listUnder(groups, keyOf(row), row);
  return groups;
}

function listUnder<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

import { buildIndex } from '../decision/eligibility.ts';
import { toCampaign, toKey, toOffer, toPublisher, toSequenceRule } from './convert.ts';
import type { CatalogRows } from './rows.ts';
import type { Offer, Publisher, Snapshot } from './types.ts';

/** Lets others work. */
export type Pause = () => Promise<void>;

const nextTurn: Pause = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Turns rows into the immutable snapshot, in slices of a few milliseconds: 10,000 offers take a good part of a second of
 * work, which must not keep requests waiting. Nothing sees the snapshot before it is whole.
 */
export async function buildSnapshot(rows: CatalogRows, pause: Pause = nextTurn): Promise<Snapshot> {
  const { offers, provisioned } = await inSlices(buildOffers(rows), pause);
  const publishers = await inSlices(buildPublishers(rows, provisioned), pause);
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

function* buildOffers(rows: CatalogRows): Generator<void, Offers> {
  const creativesByOffer = groupBy(rows.creatives, (row) => row.offer_id);
  yield;
  const offerRowsByCampaign = groupBy(rows.offers, (row) => row.campaign_id);
  yield;
  const provisionsByCampaign = groupBy(rows.provisions, (row) => row.campaign_id);
  const offers = new Map<number, Offer>();
  const provisioned = new Map<number, Offer[]>();
  for (const [done, row] of rows.campaigns.entries()) {
    if (done % sliceSize === 0) yield;
    const offerRows = offerRowsByCampaign.get(row.id) ?? [];
    const creativeRows = offerRows.flatMap((offer) => creativesByOffer.get(offer.id) ?? []);
    const campaign = toCampaign(row, creativeRows, provisionsByCampaign.get(row.id) ?? []);
    for (const offerRow of offerRows) {
      const offer = toOffer(offerRow, campaign, creativesByOffer.get(offerRow.id) ?? []);
      offers.set(offer.id, offer);
      if (row.deleted_at !== null || offerRow.deleted_at !== null) continue;
      for (const publisherId of campaign.provisions.keys()) listUnder(provisioned, publisherId, offer);
    }
  }
  return { offers, provisioned };
}

function* buildPublishers(rows: CatalogRows, provisioned: ReadonlyMap<number, Offer[]>): Generator<void, Map<number, Publisher>> {
  const themes = groupBy(rows.themes, (row) => row.publisher_id);
  const placements = groupBy(rows.placements, (row) => row.publisher_id);
  const sequenceRules = groupBy(rows.sequenceRules, (row) => row.publisher_id);
  const zones = new Map(rows.publishers.map((row) => [row.id, row.time_zone]));
  const zoneOf = (publisherId: number): string => zones.get(publisherId) ?? 'UTC';
  const publishers = new Map<number, Publisher>();
  for (const row of rows.publishers) {
    const publisher = toPublisher(row, themes.get(row.id) ?? [], placements.get(row.id) ?? []);
    publishers.set(row.id, {
      ...publisher,
      index: yield* buildIndex({ publisher, offers: provisioned.get(row.id) ?? [], zoneOf }),
      sequenceRules: (sequenceRules.get(row.id) ?? []).map(toSequenceRule),
    });
  }
  return publishers;
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

import { payoutOf } from '../../catalog/provisioning.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { LearnEvent } from '../fit/fit-rates.ts';
import { placeOf } from '../model.ts';
import { propertiesOf } from '../properties.ts';
import type { Observation } from './observations.ts';

export type LearningCatalog = Pick<CatalogStore, 'current' | 'readyAll'>;

/** All positions from this one on are treated as the same position. */
const maxPosition = 10;

const whatOf = { impression: 'seen', click: 'clicked', conversion: 'converted' } as const;

/**
 * Creates a function that converts an observation to a learning event, or to null if the offer or its publisher was
 * removed.
 */
export function createEventReader(catalog: LearningCatalog): (observation: Observation) => LearnEvent | null {
  const { offers, publishers } = catalog.current();
  return (row) => {
    const [offer, publisher] = [offers.get(row.offer_id), publishers.get(row.publisher_id)];
    if (offer === undefined || publisher === undefined) return null;
    const context = {
      device: row.device,
      os: row.os,
      geo: { country: row.country, timeZone: row.time_zone },
      loyalty: row.loyalty ?? 'none',
      custom: new Map(Object.entries(row.custom ?? {})),
      nowMs: row.session_ms,
    };
    return {
      what: whatOf[row.kind],
      row: {
        id: rowIdOf(row),
        offerId: offer.id,
        place: placeOf(publisher.id, row.placement),
        position: Math.min(maxPosition, row.position),
        properties: propertiesOf(context, publisher),
        atMs: row.at_ms,
      },
      delayMs: row.delay_ms,
      sale: saleOf(row, payoutOf(offer.campaign, publisher.id), offer.campaign.id),
    };
  };
}

/** Returns the row ID for an offer in a session, computed from the random end of the session ID and the offer ID. */
const rowIdOf = ({ session_id: session, offer_id: offer }: Observation): number =>
  (Number.parseInt(session.slice(-12), 16) + ((offer * 2_654_435_761) % 2 ** 48)) % 2 ** 52;

/**
 * Returns the sale amount for a conversion with a `cps` payout, or null for other conversions. It is calculated from
 * the payout, which is a share of the sale in millionths of a percent. Sales in a currency other than the campaign's
 * are ignored, because an average needs a single currency.
 */
function saleOf(
  { kind, revenue_micros: revenueMicros, currency }: Observation,
  payout: ReturnType<typeof payoutOf>,
  campaignId: number,
): LearnEvent['sale'] {
  if (kind !== 'conversion' || payout.kind !== 'cps' || payout.amountMicros === 0 || revenueMicros <= 0) return null;
  if ((currency ?? payout.currency) !== payout.currency) return null;
  return { campaignId, micros: (revenueMicros * 100_000_000) / payout.amountMicros };
}

import { eachBeacon } from '../../../catalog/event-kinds.ts';
import type { PageExtensions } from '../../../catalog/page-extensions.ts';
import type { Offer, Publisher } from '../../../catalog/types.ts';
import { indexOf } from '../../../decision/eligibility.ts';
import { buildOfferView } from '../../offer-view.ts';

/** An offer as the SDK gets it, without URLs that would be tracked. */
function untrackedView(publisher: Publisher, offer: Offer, publicUrl: string): object {
  const view = buildOfferView({ offer, publisher, copy: offer.copy, token: '', hasUser: false, qrCode: '', publicUrl });
  return {
    ...view,
    pixel: '',
    adv_pixel_url: '',
    beacons: eachBeacon(() => ''),
    save_for_later_url: null,
  };
}

/** The first offers of a publisher, in the order in which they compete. */
export const createSampleOffers =
  (publicUrl: string): NonNullable<PageExtensions['sampleOffers']> =>
  (publisher, { exceptId, count }) =>
    indexOf(publisher)
      .candidates.filter(({ offer }) => offer.id !== exceptId)
      .slice(0, count)
      .map(({ offer }) => untrackedView(publisher, offer, publicUrl));

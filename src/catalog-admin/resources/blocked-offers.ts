import { controlsOf } from '../../catalog/controls.ts';
import { blankOffer, isProvisionedTo } from '../../catalog/provisioning.ts';
import type { Block, Controls, Offer, OfferLists, Publisher, StoredControls } from '../../catalog/types.ts';
import { runInSlices } from '../../platform/lib/slices.ts';

/** Offer with the rules that block it: one for all placements, or one for each placement that has its own rules. */
export type BlockedOffer = { offer: Offer; blocks: readonly Block[] };

/** Number of offers to check before yielding to other requests. */
const sliceSize = 100;

/** Lists a publisher's active offers that its current rules block, at all placements or at some. */
export function listBlockedOffers({ id, controls, index }: Publisher): Promise<BlockedOffer[]> {
  const offers = index.offers.filter((offer) => isProvisionedTo(offer, id));
  return runInSlices(
    (function* () {
      const blocked: BlockedOffer[] = [];
      for (const [done, offer] of offers.entries()) {
        if (done % sliceSize === sliceSize - 1) yield;
        const blocks = blocksOf(controls, offer);
        if (blocks.length > 0) blocked.push({ offer, blocks });
      }
      return blocked;
    })(),
  );
}

function blocksOf(controls: Controls | null, offer: Offer): Block[] {
  const block = controls?.blockOf(offer) ?? null;
  if (block !== null) return [block];
  return [...(controls?.placements.values() ?? [])].flatMap((blockOf) => blockOf(offer) ?? []);
}

/** Properties of an offer, which does not have to exist. Unknown properties are left out. */
export type OfferSample = { landingUrl?: string; advertiser?: string; category?: string; text?: string };

/**
 * Returns the rules that would block an offer with the given properties. Rules about properties that are left out do
 * not apply.
 */
export function blocksOfSample({ index }: Publisher, stored: StoredControls, sample: OfferSample): Block[] {
  const { landingUrl = '', advertiser = '', category = '', text = '' } = sample;
  const name = advertiser.trim().toLowerCase();
  const advertiserCampaign = index.offers.find(
    ({ campaign }) => campaign.advertiserName.toLowerCase() === name,
  )?.campaign;
  const blank = blankOffer(0, 0, 0);
  const campaign = {
    ...blank.campaign,
    landingUrl,
    category,
    advertiserName: advertiser,
    ...(name !== '' && advertiserCampaign !== undefined && { advertiserId: advertiserCampaign.advertiserId }),
  };
  const applied = <Lists extends OfferLists>(lists: Lists): Lists => ({
    ...lists,
    allowed: {
      categories: category === '' ? [] : lists.allowed.categories,
      brands: name === '' ? [] : lists.allowed.brands,
      advertisers: name === '' ? [] : lists.allowed.advertisers,
      domains: landingUrl === '' ? [] : lists.allowed.domains,
    },
  });
  const placements = Object.entries(stored.placements).map(
    ([placement, lists]) => [placement, applied(lists)] as const,
  );
  const controls = controlsOf({ ...applied(stored), placements: Object.fromEntries(placements) }, null);
  return blocksOf(controls, { ...blank, campaign, copy: { ...blank.copy, title: text } });
}

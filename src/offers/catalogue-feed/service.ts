import { hash } from 'node:crypto';
import { isServedTo, phaseOf } from '../../catalog/provisioning.ts';
import type { Campaign, Offer, Publisher } from '../../catalog/types.ts';
import type { TokenCodec } from '../../platform/security/tracking-token.ts';
import { platformOf } from '../../platform/user-agent/client-device.ts';
import { buildOfferView, fillCopy } from '../offer-view.ts';

/** Filters of the catalogue feed. Null means no filter. */
export type CatalogueQuery = {
  offerIds: ReadonlySet<number> | null;
  campaignIds: ReadonlySet<number> | null;
  /** Upper-case country codes. An offer matches if it can be shown in at least one of the countries. */
  countries: readonly string[] | null;
  /** Lower-case operating system names. An offer matches if it can be shown on at least one of the systems. */
  systems: readonly string[] | null;
  /** Exclusive lower bound for offer IDs. */
  after: number;
  limit: number;
  /** Current time, in epoch milliseconds. Campaigns that have ended or have not yet started are excluded. */
  nowMs: number;
};

const servedOffers = new WeakMap<Publisher, readonly Offer[]>();

/** Returns the offers that a publisher may show, ordered by ID. The list is computed once per snapshot. */
function offersOf(publisher: Publisher): readonly Offer[] {
  let offers = servedOffers.get(publisher);
  if (offers === undefined) {
    offers = publisher.index.offers.filter((offer) => isServedTo(offer, publisher)).sort((a, b) => a.id - b.id);
    servedOffers.set(publisher, offers);
  }
  return offers;
}

/**
 * Returns a page of the offers that a publisher may show now, ordered by ID. `next` is the `after` value for the
 * following page, or null on the last page.
 */
export function pageOf(
  publisher: Publisher,
  { offerIds, campaignIds, countries, systems, after, limit, nowMs }: CatalogueQuery,
): { offers: Offer[]; next: number | null } {
  const matching = offersOf(publisher).filter(
    ({ id, campaign }) =>
      id > after &&
      (offerIds === null || offerIds.has(id)) &&
      (campaignIds === null || campaignIds.has(campaign.id)) &&
      (countries === null || countries.some((country) => isShownIn(campaign, country))) &&
      (systems === null || systems.some((os) => isShownOn(campaign, os))) &&
      phaseOf(campaign, nowMs) === 'running',
  );
  const offers = matching.slice(0, limit);
  return { offers, next: matching.length > limit ? (offers.at(-1)?.id ?? null) : null };
}

type TargetList = { include?: readonly string[] | undefined; exclude?: readonly string[] | undefined };

function admits({ include, exclude }: TargetList, value: string): boolean {
  const has = (list: readonly string[]): boolean => list.some((entry) => entry.toLowerCase() === value.toLowerCase());
  return (include === undefined || include.length === 0 || has(include)) && !has(exclude ?? []);
}

const isShownIn = ({ rules }: Campaign, country: string): boolean => admits(rules.targeting?.countries ?? {}, country);

/**
 * Whether a campaign can be shown on an operating system. A campaign that targets a platform also targets all of its
 * operating systems.
 */
const isShownOn = ({ rules }: Campaign, os: string): boolean =>
  admits(rules.targeting?.os ?? {}, os) && admits(rules.targeting?.platforms ?? {}, platformOf(os));

type ViewDeps = { tokens: TokenCodec; publicUrl: string };

/**
 * Builds an offer object without a session. It has no beacons and no save URL. Its click URL is the one that is
 * otherwise used in QR codes.
 */
export function buildCatalogueView(publisher: Publisher, offer: Offer, { tokens, publicUrl }: ViewDeps) {
  const { campaign } = offer;
  const token = tokens.mint({
    publisherId: publisher.id,
    sessionId: null,
    offerId: offer.id,
    campaignId: campaign.id,
    position: 0,
    dev: false,
  });
  const copy = fillCopy(offer.copy, {});
  const view = buildOfferView({ offer, publisher, copy, token, hasUser: false, qrCode: '', publicUrl });
  const { pixel, beacons, save_for_later_url, offerwall_url, qr_code_img, ...fields } = view;
  return {
    ...fields,
    tags: [...fields.tags],
    category: campaign.category,
    countries: { include: [], exclude: [], ...campaign.rules.targeting?.countries },
  };
}

/** Returns the strong ETag of a response text. */
export const etagOf = (text: string): string => `"${hash('sha256', text, 'base64url').slice(0, 27)}"`;

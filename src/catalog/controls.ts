import { isDeepStrictEqual } from 'node:util';
import { parseUrl } from '../platform/lib/url.ts';
import { plainText, wordFinder } from './blocked-words.ts';
import { normaliseName } from './names.ts';
import { allTextsOf } from './translations.ts';
import type { Block, Controls, Offer, StoredControls } from './types.ts';

export const noControls: StoredControls = {
  blocked: { categories: [], brands: [], advertisers: [], domains: [], offers: [], words: [] },
  separate: { categories: false, competitors: [] },
  floors: {},
};

/**
 * The host of a domain as addresses have it: lower case, in ASCII, without the dot at the end.
 * @returns null: it is none
 */
export function hostOf(domain: string): string | null {
  const name = domain.trim().replace(/^\*\./, '').replace(/\.$/, '');
  if (name === '' || /[\s/\\:@?#%[\]*]/.test(name)) return null;
  const host = (parseUrl(`https://${name}`)?.hostname ?? '').replace(/\.$/, '');
  return host === '' || host.length > 253 || host.includes('..') ? null : host;
}

/**
 * Makes rules ready. @param earlier those of an earlier snapshot, shared where they are the same
 * @returns null: there are none
 */
export function controlsOf(stored: StoredControls | null, earlier: Controls | null): Controls | null {
  if (stored === null || isDeepStrictEqual(stored, noControls)) return null;
  if (earlier !== null && isDeepStrictEqual(stored, earlier.stored)) return earlier;
  const find = blockFinder(stored);
  const found = new WeakMap<Offer, Block | false>();
  return {
    stored,
    blockOf: (offer) => {
      let block = found.get(offer);
      if (block === undefined) {
        block = find(offer) ?? false;
        found.set(offer, block);
      }
      return block === false ? null : block;
    },
    separateCategories: stored.separate.categories,
    floors: new Map(Object.entries(stored.floors).map(([name, amount]) => [normaliseName(name), amount * 1000])),
  };
}

function blockFinder({ blocked, separate: { competitors } }: StoredControls): (offer: Offer) => Block | null {
  const offers = new Set(blocked.offers);
  const advertisers = new Set(blocked.advertisers);
  const categories = new Set(blocked.categories.map(plainText));
  const brands = new Set(blocked.brands.map(plainText));
  const domains = new Set(blocked.domains.map(hostOf));
  const findWord = blocked.words.length === 0 ? null : wordFinder(blocked.words);
  const names = competitors.filter((one) => typeof one === 'string');
  const competing = {
    ids: new Set(competitors.filter((one) => typeof one === 'number')),
    brands: new Set(names.map(plainText)),
    domains: new Set(names.flatMap((name) => hostOf(name) ?? [])),
  };
  return (offer) => {
    const { campaign } = offer;
    const brand = plainText(campaign.advertiserName);
    const hosts = domains.size + competing.domains.size === 0 ? [] : landingHosts(offer);
    const listed = (list: ReadonlySet<string | null>): string | null => hosts.find((host) => list.has(host)) ?? null;
    if (offers.has(offer.id)) return { by: 'offer', value: String(offer.id) };
    if (advertisers.has(campaign.advertiserId)) return { by: 'advertiser', value: String(campaign.advertiserId) };
    if (categories.has(plainText(campaign.category))) return { by: 'category', value: campaign.category };
    if (brands.has(brand)) return { by: 'brand', value: campaign.advertiserName };
    const domain = listed(domains);
    if (domain !== null) return { by: 'domain', value: domain };
    if (competing.ids.has(campaign.advertiserId) || competing.brands.has(brand) || listed(competing.domains) !== null)
      return { by: 'competitor', value: campaign.advertiserName };
    const word = findWord?.(textOf(offer)) ?? null;
    return word === null ? null : { by: 'word', value: word };
  };
}

/** Hosts that an offer leads to, each followed by the domains it is part of. */
function landingHosts({ campaign, useractionUrl }: Offer): string[] {
  return [campaign.landingUrl, useractionUrl ?? ''].flatMap((url) => {
    const parsed = parseUrl(url);
    if (parsed === null) return [];
    const labels = parsed.hostname.replace(/\.$/, '').split('.');
    return labels.map((_, at) => labels.slice(at).join('.'));
  });
}

/** All that users read of an offer; what stands apart is not one phrase. */
function textOf(offer: Offer): string {
  const { campaign, copy } = offer;
  const terms = offer.termsAndConditions.replace(/<[^>]*>/g, ' \u00b7 ');
  const own = [...Object.values(copy), terms, offer.loyaltyRequirements, offer.useractionCta ?? ''];
  const texts = [...own, ...allTextsOf(offer)];
  return [...texts, campaign.offerDescription, campaign.advertiserName].join(' \u00b7 ');
}

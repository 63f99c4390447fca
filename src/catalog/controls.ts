import { isDeepStrictEqual } from 'node:util';
import { plainText as unescaped } from '../platform/http/html.ts';
import { ownOf } from '../platform/lib/own.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { plainText, wordFinder } from './blocked-words.ts';
import { categoriesOf, plainCategory } from './content-taxonomy.ts';
import { normaliseName } from './names.ts';
import { allTextsOf } from './translations.ts';
import type { Block, Controls, FindBlock, Offer, OfferLists, StoredControls } from './types.ts';

export const noLists: OfferLists = {
  blocked: { categories: [], brands: [], advertisers: [], domains: [], offers: [], words: [] },
  allowed: { categories: [], brands: [], advertisers: [], domains: [] },
};

export const listsAt = ({ placements }: { placements: Record<string, OfferLists> }, name: string): OfferLists =>
  ownOf(placements, name) ?? noLists;

export const noControls: StoredControls = {
  ...noLists,
  placements: {},
  separate: { categories: false, competitors: [] },
  floors: {},
};

/** Adds the fields that rules stored by earlier releases lack. */
export const wholeControls = (stored: Partial<StoredControls>): StoredControls => ({ ...noControls, ...stored });

/**
 * Normalises a domain to its host name: lower case, ASCII, no trailing dot.
 * @returns null if it is not a domain
 */
export function hostOf(domain: string): string | null {
  const name = domain.trim().replace(/^\*\./, '').replace(/\.$/, '');
  if (name === '' || /[\s/\\:@?#%[\]*]/.test(name)) return null;
  const host = (parseUrl(`https://${name}`)?.hostname ?? '').replace(/\.$/, '');
  return host === '' || host.length > 253 || host.includes('..') ? null : host;
}

/**
 * Compiles stored rules.
 * @param earlier rules of an earlier snapshot, shared if they are unchanged
 * @returns null if there are no rules
 */
export function controlsOf(input: Partial<StoredControls> | null, earlier: Controls | null): Controls | null {
  const stored = wholeControls(input ?? {});
  if (isDeepStrictEqual(stored, noControls)) return null;
  if (earlier !== null && isDeepStrictEqual(stored, earlier.stored)) return earlier;
  const ofPlacement = ([name, lists]: [string, OfferLists]): [string, FindBlock] => {
    const find = blockFinder({ ...lists, competitors: [] });
    return [
      name,
      remembered((offer) => {
        const block = find(offer);
        return block && { ...block, placement: name };
      }),
    ];
  };
  return {
    stored,
    blockOf: remembered(blockFinder({ ...stored, competitors: stored.separate.competitors })),
    placements: new Map(Object.entries(stored.placements).map(ofPlacement)),
    separateCategories: stored.separate.categories,
    floors: new Map(Object.entries(stored.floors).map(([name, amount]) => [normaliseName(name), amount * 1000])),
  };
}

/** Caches the result for each offer. */
function remembered(find: FindBlock): FindBlock {
  const blocks = new WeakMap<Offer, Block | false>();
  return (offer) => {
    let block = blocks.get(offer);
    if (block === undefined) {
      block = find(offer) ?? false;
      blocks.set(offer, block);
    }
    return block === false ? null : block;
  };
}

type Lists = OfferLists & { competitors: readonly (string | number)[] };

/**
 * Domain that a competitor's name stands for, or null for a single word. A word such as Shop is a brand, not a
 * top-level domain.
 */
export function competitorDomain(name: string): string | null {
  const host = hostOf(name);
  return host?.includes('.') ? host : null;
}

function blockFinder({ blocked, allowed, competitors }: Lists): FindBlock {
  const offers = new Set(blocked.offers);
  const advertisers = new Set(blocked.advertisers);
  const categories = new Set(blocked.categories.flatMap(categoriesOf));
  const brands = new Set(blocked.brands.map(plainText));
  const domains = new Set(blocked.domains.map(hostOf));
  const findWord = blocked.words.length === 0 ? null : wordFinder(blocked.words);
  const names = competitors.filter((competitor) => typeof competitor === 'string');
  const competing = {
    ids: new Set(competitors.filter((competitor) => typeof competitor === 'number')),
    brands: new Set(names.map(plainText)),
    domains: new Set(names.map(competitorDomain).filter((domain) => domain !== null)),
  };
  const notAllowed = allowedFinder(allowed);
  return (offer) => {
    const { campaign } = offer;
    const brand = plainText(campaign.advertiserName);
    const hosts = domains.size + competing.domains.size === 0 ? [] : landingHosts(offer);
    const listed = (list: ReadonlySet<string | null>): string | null => hosts.find((host) => list.has(host)) ?? null;
    if (offers.has(offer.id)) return { by: 'offer', value: String(offer.id) };
    if (advertisers.has(campaign.advertiserId)) return { by: 'advertiser', value: String(campaign.advertiserId) };
    if (categories.has(plainCategory(campaign.category))) return { by: 'category', value: campaign.category };
    if (brands.has(brand)) return { by: 'brand', value: campaign.advertiserName };
    const domain = listed(domains);
    if (domain !== null) return { by: 'domain', value: domain };
    if (competing.ids.has(campaign.advertiserId) || competing.brands.has(brand) || listed(competing.domains) !== null)
      return { by: 'competitor', value: campaign.advertiserName };
    const word = findWord?.(textOf(offer)) ?? null;
    return word === null ? notAllowed(offer) : { by: 'word', value: word };
  };
}

/**
 * Returns a function that finds the first list of allowed values that an offer does not match. Empty lists are ignored.
 */
function allowedFinder({ categories, brands, advertisers, domains }: OfferLists['allowed']): FindBlock {
  const listed = {
    categories: new Set(categories.flatMap(categoriesOf)),
    brands: new Set(brands.map(plainText)),
    advertisers: new Set(advertisers),
    domains: new Set(domains.map(hostOf)),
  };
  const isOff = <Item>(list: ReadonlySet<Item>, item: Item): boolean => list.size > 0 && !list.has(item);
  return (offer) => {
    const { category, advertiserName, advertiserId } = offer.campaign;
    if (isOff(listed.categories, plainCategory(category))) return { by: 'not_category', value: category };
    if (isOff(listed.brands, plainText(advertiserName))) return { by: 'not_brand', value: advertiserName };
    if (isOff(listed.advertisers, advertiserId)) return { by: 'not_advertiser', value: advertiserName };
    if (listed.domains.size === 0) return null;
    // Every landing URL must be on the list, not only one of them.
    const other = landingUrls(offer).find((url) => !domainsOf(url).some((host) => listed.domains.has(host)));
    return other === undefined ? null : { by: 'not_domain', value: domainsOf(other)[0] ?? other };
  };
}

/** Hosts that an offer links to, each followed by its parent domains. */
const landingHosts = (offer: Offer): string[] => landingUrls(offer).flatMap(domainsOf);

const landingUrls = ({ campaign, useractionUrl }: Offer): string[] =>
  [campaign.landingUrl, useractionUrl ?? ''].filter((url) => url !== '');

function domainsOf(url: string): string[] {
  const parsed = parseUrl(url);
  if (parsed === null) return [];
  const labels = parsed.hostname.replace(/\.$/, '').split('.');
  return labels.map((_, at) => labels.slice(at).join('.'));
}

const inlineTags: ReadonlySet<string> = new Set('b strong i em u a span small sub sup'.split(' '));

/** Separator of texts, so that no phrase matches across two of them. */
const apart = ' \u00b7 ';

/** Terms without markup, with the parts of styled words once joined as they appear and once separated. */
const termsTexts = (terms: string): string[] =>
  ['', apart].map((gap) =>
    unescaped(terms.replace(/<\/?(\w+)[^>]*>/g, (_tag, name: string) => (inlineTags.has(name) ? gap : apart))),
  );

/** All texts of an offer that users read, in all languages. */
function textOf(offer: Offer): string {
  const { campaign, copy } = offer;
  const own = [...Object.values(copy), ...termsTexts(offer.termsAndConditions), offer.loyaltyRequirements];
  const others = allTextsOf(offer).flatMap(({ terms_and_conditions: terms = '', ...texts }) => [
    ...termsTexts(terms),
    ...Object.values(texts),
  ]);
  const texts = [...own, offer.useractionCta ?? '', ...others];
  return [...texts, campaign.offerDescription, campaign.advertiserName].join(apart);
}

import { isDeepStrictEqual } from 'node:util';
import { plainText as unescaped } from '../platform/http/html.ts';
import { ownOf } from '../platform/lib/own.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { normaliseName, plainText, wordFinder } from './names.ts';
import { allTextsOf } from './provisioning.ts';
import type { ControlsRule, RuleDetail } from './rules.ts';
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
  rule_details: [],
};

/** Adds default values for fields that are missing in rules stored by earlier releases. */
export const wholeControls = (stored: Partial<StoredControls>): StoredControls => ({ ...noControls, ...stored });

/**
 * Normalises a domain to its host name: lower case, ASCII, no trailing dot.
 * @returns the host name, or null if the text is not a domain
 */
export function hostOf(domain: string): string | null {
  const name = domain.trim().replace(/^\*\./, '').replace(/\.$/, '');
  if (name === '' || /[\s/\\:@?#%[\]*]/.test(name)) return null;
  const host = (parseUrl(`https://${name}`)?.hostname ?? '').replace(/\.$/, '');
  return host === '' || host.length > 253 || host.includes('..') ? null : host;
}

/**
 * Compiles stored block rules.
 * @param earlier compiled rules of an earlier snapshot, which are reused if the stored rules are unchanged
 * @returns null if there are no rules
 */
export function controlsOf(input: Partial<StoredControls> | null, earlier: Controls | null): Controls | null {
  const stored = wholeControls(input ?? {});
  if (isDeepStrictEqual({ ...stored, rule_details: [] }, noControls)) return null;
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

/** Wraps a function so that its result is cached per offer. */
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
 * Returns the domain in a competitor's name, or null if the name is a single word. A word such as "Shop" is treated as
 * a brand, not as a top-level domain.
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

/** Returns a function that finds the first allow list that an offer does not match. Empty lists are ignored. */
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
    // Both the landing page and the secondary action URL must be on the list of allowed domains.
    const other = landingUrls(offer).find((url) => !domainsOf(url).some((host) => listed.domains.has(host)));
    return other === undefined ? null : { by: 'not_domain', value: domainsOf(other)[0] ?? other };
  };
}

/** Hosts of an offer's landing URLs, each followed by its parent domains. */
const landingHosts = (offer: Offer): string[] => landingUrls(offer).flatMap(domainsOf);

/** URLs of the pages to which an offer leads. */
export const landingUrls = ({ campaign, useractionUrl }: Offer): string[] =>
  [campaign.landingUrl, useractionUrl ?? ''].filter((url) => url !== '');

function domainsOf(url: string): string[] {
  const parsed = parseUrl(url);
  if (parsed === null) return [];
  const labels = parsed.hostname.replace(/\.$/, '').split('.');
  return labels.map((_, at) => labels.slice(at).join('.'));
}

const inlineTags: ReadonlySet<string> = new Set('b strong i em u a span small sub sup'.split(' '));

/** Separator inserted between strings, so that a blocked phrase cannot match across two of them. */
const apart = ' \u00b7 ';

/**
 * Returns the terms and conditions without markup, in two versions: one joins the text around inline tags, and the
 * other separates it.
 */
const termsTexts = (terms: string): string[] =>
  ['', apart].map((gap) =>
    unescaped(terms.replace(/<\/?(\w+)[^>]*>/g, (_tag, name: string) => (inlineTags.has(name) ? gap : apart))),
  );

/** Returns all of an offer's copy that users can read, in all languages. */
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

/** Returns the value that identifies a rule among those of its kind. */
export const identifyingValue = ({ by, value }: ControlsRule): string =>
  by === 'separation' || by.startsWith('allowed_') ? '' : value;

/** Returns a text that identifies a rule among a publisher's rules. */
export const ruleKey = (rule: ControlsRule): string =>
  JSON.stringify([rule.by, identifyingValue(rule), rule.placement]);

/**
 * Estimated effect that different block rules would have had on recent decisions. It is computed by repeating a random
 * sample of decisions, and the figures are shares of that sample. `revenue` is the change in the booked revenue of all
 * `sessions`, by currency, in millionths. A loss never exceeds the booked revenue.
 */
export type ControlsEffect = {
  days: number;
  /** Approximate number of sessions. `sampled` is the number of sessions whose decisions were repeated. */
  sessions: number;
  sampled: number;
  changed: number;
  emptied: number;
  revenue: { currency: string; micros: number }[];
  /** Whether there is enough data to estimate the revenue. If not, `revenue` lacks some currencies. */
  isEnough: boolean;
};

/**
 * Cost of each block rule: how decisions would change without the rule. `rest` is the number of rules that were not
 * evaluated.
 */
export type ControlsCost = {
  days: number;
  sessions: number;
  sampled: number;
  rules: (ControlsRule & { effect: ControlsEffect })[];
  rest: number;
};

const lists = {
  category: 'categories',
  brand: 'brands',
  advertiser: 'advertisers',
  domain: 'domains',
  offer: 'offers',
  word: 'words',
} as const;
const listed = Object.keys(lists) as (keyof typeof lists)[];

/** Returns the list that contains the rules of a kind. */
export const blockedListOf = (by: keyof typeof lists) => lists[by];

const allowedLists = ['categories', 'brands', 'advertisers', 'domains'] as const;

const rulesOfLists = ({ blocked, allowed }: OfferLists, placement: string | null): ControlsRule[] => [
  ...listed.flatMap((by) =>
    blocked[lists[by]].map((value: string | number) => ({ by, value: String(value), placement })),
  ),
  ...allowedLists
    .filter((list) => allowed[list].length > 0)
    .map((list) => ({ by: `allowed_${list}` as const, value: allowed[list].join(', '), placement })),
];

/** Returns the block rules as a flat list. */
export const rulesOf = ({ separate, floors, placements, ...lists }: StoredControls): ControlsRule[] => [
  ...rulesOfLists(lists, null),
  ...separate.competitors.map((value) => ({ by: 'competitor' as const, value: String(value), placement: null })),
  ...(separate.categories ? [{ by: 'separation' as const, value: 'categories', placement: null }] : []),
  ...Object.keys(floors).map((value) => ({ by: 'floor' as const, value, placement: null })),
  ...Object.entries(placements).flatMap(([name, ofPlacement]) => rulesOfLists(ofPlacement, name)),
];

/** Returns the block rules without some of them. Lists that contain none of these are shared with the original. */
export function withoutRules(stored: StoredControls, removed: readonly ControlsRule[]): StoredControls {
  if (removed.length === 0) return stored;
  const valuesAt = (by: ControlsRule['by'], placement: string | null = null): ReadonlySet<string> =>
    new Set(removed.filter((rule) => rule.by === by && rule.placement === placement).map(identifyingValue));
  const others = <Item extends string | number>(items: readonly Item[], values: ReadonlySet<string>): Item[] =>
    values.size === 0 ? (items as Item[]) : items.filter((item) => !values.has(String(item)));
  const remaining = ({ blocked, allowed }: OfferLists, placement: string | null) =>
    ({
      blocked: Object.fromEntries(
        listed.map((by) => [lists[by], others<string | number>(blocked[lists[by]], valuesAt(by, placement))]),
      ),
      allowed: Object.fromEntries(
        allowedLists.map((list) => [list, valuesAt(`allowed_${list}`, placement).size > 0 ? [] : allowed[list]]),
      ),
    }) as OfferLists;
  const { placements, separate, floors, rule_details: details } = stored;
  const changedPlacements = new Set(removed.map(({ placement }) => placement));
  const keys = new Set(removed.map(ruleKey));
  const floorsRemoved = valuesAt('floor');
  return {
    ...stored,
    ...remaining(stored, null),
    placements: Object.fromEntries(
      Object.entries(placements).map(([name, at]) => [name, changedPlacements.has(name) ? remaining(at, name) : at]),
    ),
    separate: {
      categories: separate.categories && valuesAt('separation').size === 0,
      competitors: others(separate.competitors, valuesAt('competitor')),
    },
    floors: Object.fromEntries(Object.entries(floors).filter(([name]) => !floorsRemoved.has(name))),
    rule_details: details.filter((detail) => !keys.has(ruleKey(detail))),
  };
}

const endMsOf = ({ ends_at: endsAt }: RuleDetail): number =>
  endsAt === null ? Number.POSITIVE_INFINITY : Date.parse(endsAt);

export const hasEnded = (detail: RuleDetail, nowMs: number): boolean => endMsOf(detail) <= nowMs;

/** Returns the block rules that apply at a time: those that have not ended. */
export const rulesInForce = (stored: StoredControls, nowMs: number): StoredControls =>
  withoutRules(
    stored,
    stored.rule_details.filter((detail) => hasEnded(detail, nowMs)),
  );

/** Returns the time when the next of these rules ends, in epoch milliseconds, or infinity. */
export const nextEndMs = (stored: Partial<StoredControls> | null): number =>
  Math.min(Number.POSITIVE_INFINITY, ...(stored?.rule_details ?? []).map(endMsOf));

/** Removes the details of rules that do not exist. */
export function withoutUnusedDetails(stored: StoredControls): StoredControls {
  if (stored.rule_details.length === 0) return stored;
  const keys = new Set(rulesOf(stored).map(ruleKey));
  return { ...stored, rule_details: stored.rule_details.filter((detail) => keys.has(ruleKey(detail))) };
}

/** Category of the IAB taxonomy. `parent` is the name of its tier 1 category, or null for a tier 1 category itself. */
export type ContentCategory = { code: string; name: string; parent: string | null };

/**
 * Content Taxonomy 3.1 of the IAB Tech Lab (https://iabtechlab.com/standards/content-taxonomy/, CC BY 3.0), tiers 1 and
 * 2. Each line contains the code and name of a tier 1 category, followed by its subcategories.
 */
const source = `
150 Attractions: 151 Amusement and Theme Parks; 179 Bars & Restaurants; 181 Casinos & Gambling;
153 Historic Site and Landmark Tours; 154 Malls & Shopping Centers; 155 Museums & Galleries; 158 Nightclubs;
159 Outdoor Attractions; 160 Parks; 177 Theater Venues; 178 Zoos & Aquariums
1 Automotive: 2 Auto Body Styles; 30 Auto Buying and Selling; 31 Auto Insurance; 32 Auto Parts; 33 Auto Recalls;
41 Auto Rentals; 34 Auto Repair; 35 Auto Safety; 36 Auto Shows; 37 Auto Technology; 16 Auto Type; 25 Car Culture;
26 Dash Cam Videos; 27 Motorcycles; 28 Road-Side Assistance; 29 Scooters
42 Books and Literature: 43 Art and Photography; 46 Comics and Graphic Novels; 48 Fiction; 49 Poetry
52 Business and Finance: 53 Business; 80 Economy; 90 Industries
123 Careers: 124 Apprenticeships; 125 Career Advice; 126 Career Planning; 127 Job Search; 130 Remote Working;
131 Vocational Training
80DV8O Communication
380 Crime
381 Disasters
132 Education: 133 Adult Education; 137 College Education; 142 Early Childhood Education; 143 Educational Assessment;
145 Homeschooling; 146 Homework and Study; 147 Language Learning; 148 Online Education; 149 Primary Education;
134 Private School; 135 Secondary Education; 136 Special Education
JLBCU7 Entertainment: 324 Movies; 338 Music; 640 Television; 342 Adult Album Alternative;
339 Adult Contemporary Music; 343 Alternative Music; 360 Blues; 344 Children's Music; 345 Classic Hits;
346 Classical Music; 347 College Radio; 348 Comedy (Music and Audio); 349 Contemporary Hits/Pop/Top 40;
350 Country Music; 351 Dance and Electronic Music; 354 Gospel Music; 355 Hip Hop Music;
356 Inspirational/New Age Music; 357 Jazz; 358 Oldies/Adult Standards; 362 R&B/Soul/Funk; 359 Reggae;
361 Religious (Music and Audio); 363 Rock Music; 353 Songwriters/Folk; 369 Soundtracks, TV and Showtunes;
352 World/International Music; 377 Urban Contemporary Music; 378 Variety (Music and Audio)
8VZQHL Events: 162 Awards Shows; 180 Business Expos & Conferences; 185 Fan Conventions
186 Family and Relationships: 187 Bereavement; 188 Dating; 189 Divorce; 190 Eldercare;
191 Marriage and Civil Unions; 192 Parenting; 200 Single Life
201 Fine Art: 202 Costume; 203 Dance; 204 Design; 205 Digital Arts; 206 Fine Art Photography; 207 Modern Art;
208 Opera; 209 Theater
210 Food & Drink: 211 Alcoholic Beverages; 215 Barbecues and Grilling; 216 Cooking; 217 Desserts and Baking;
218 Dining Out; 219 Food Allergies; 220 Food Movements; 221 Healthy Cooking and Eating;
222 Non-Alcoholic Beverages; 212 Vegan Diets; 213 Vegetarian Diets; 214 World Cuisines
SPSHQ5 Genres: VKIV56 Nature; 325 Action/Adventure; 641 Animation & Anime; 44 Biographies; 646 Comedy;
332 Documentary; 647 Drama; 648 Factual; 645 Family/Children; 335 Fantasy; EZWB7V History; 649 Holiday; 336 Horror;
TIFQA5 Lifestyle; 650 Music Video; 156 Musicals; 331 Mystery; 651 Reality TV; 326 Romance; 652 Science Fiction;
642 Soap Opera; 643 Special Interest (Indie/Art House); 370 Sports Radio; 371 Talk Radio; A0AH3G Talk Show;
KHPC5A True Crime; KHPC6A Western; 51 Young Adult; 700 Thriller
223 Healthy Living: 224 Children's Health; 225 Fitness and Exercise; 228 Men's Health; 229 Nutrition;
230 Senior Health; 231 Weight Loss; 232 Wellness; 238 Women's Health
239 Hobbies & Interests: 240 Antiquing and Antiques; 248 Arts and Crafts; 258 Beekeeping; 259 Birdwatching;
260 Cigars; 261 Collecting; 264 Content Production; 269 Games and Puzzles; 273 Genealogy and Ancestry;
241 Magic and Illusion; 242 Model Toys; 243 Musical Instruments; 244 Paranormal Phenomena; 245 Radio Control;
246 Sci-fi and Fantasy; 247 Workshops and Classes
1KXCLD Holidays: 157 National & Civic Holidays
274 Home & Garden: 275 Gardening; 278 Home Appliances; 279 Home Entertaining; 280 Home Improvement;
281 Home Security; 282 Indoor Environmental Quality; 283 Interior Decorating; 284 Landscaping;
285 Outdoor Decorating; 276 Remodeling & Construction; 277 Smart Home
383 Law
286 Medical Health: 323 Cosmetic Medical Services; 287 Diseases and Conditions; 319 Medical Tests;
320 Pharmaceutical Drugs; 321 Surgery; 322 Vaccines
163 Personal Celebrations & Life Events: 164 Anniversary; 166 Baby Shower; 167 Bachelor Party;
168 Bachelorette Party; 169 Birth; 170 Birthday; 171 Funeral; 172 Graduation; 173 Prom; 165 Wedding
391 Personal Finance: 392 Consumer Banking; 393 Financial Assistance; 396 Financial Planning; 397 Frugal Living;
417 Home Utilities; 398 Insurance; 405 Personal Debt; 410 Personal Investing; 415 Personal Taxes;
416 Retirement Planning
422 Pets: 423 Birds; 424 Cats; 425 Dogs; 426 Fish and Aquariums; 427 Large Animals; 428 Pet Adoptions;
431 Pet Supplies; 429 Reptiles; 430 Veterinary Medicine
386 Politics: 8YPBBL Civic affairs; 387 Elections; 388 Political Issues & Policy
432 Pop Culture: 433 Celebrity Deaths; 434 Celebrity Families; 435 Celebrity Homes; 436 Celebrity Pregnancy;
437 Celebrity Relationships; 438 Celebrity Scandal; 439 Celebrity Style; 440 Humor and Satire
W3CW2J Productivity
441 Real Estate: 442 Apartments; 445 Developmental Sites; 446 Hotel Properties; 447 Houses;
448 Industrial Property; 449 Land and Farms; 450 Office Property; 451 Real Estate Buying and Selling;
452 Real Estate Renting and Leasing; 443 Retail Property; 444 Vacation Properties
453 Religion & Spirituality: 454 Agnosticism; 456 Astrology; 457 Atheism; 458 Buddhism; 459 Christianity;
460 Hinduism; 461 Islam; 462 Judaism; 463 Sikhism; 455 Spirituality
464 Science: 465 Biological Sciences; 466 Chemistry; 467 Environment; 468 Genetics; 469 Geography; 470 Geology;
471 Physics; 472 Space and Astronomy; 390 Weather
v9i3On Sensitive Topics: Rm3SiT Adult & Explicit Sexual Content; avbNf2 Arms & Ammunition;
XtODT3 Crime & Harmful Acts to Individuals, Society & Human Right Violations;
I4GWl6 Death, Injury, or Military Conflict; Z7rJBM Debated Sensitive Social Issues;
HxqYV1 Hate Speech and Acts of Aggression; pg0WhF Illegal Drugs, Tobacco, eCigarettes, Vaping, Alcohol;
j9PaO9 Obscenity and Profanity; mm3UXx Online Piracy; 6i4dB6 Spam or Harmful Content; 8FD8nI Terrorism
473 Shopping: 482 Children's Games and Toys; 474 Coupons and Discounts; 475 Flower Shopping;
476 Gifts and Greetings Cards; 477 Grocery Shopping; 478 Holiday Shopping; 479 Household Supplies;
480 Lotteries and Scratchcards; 161 Party Supplies and Decorations; 481 Sales and Promotions
483 Sports: 484 American Football; 507 Australian Rules Football; 518 Auto Racing; 534 Badminton; 545 Baseball;
547 Basketball; 548 Beach Volleyball; 549 Bodybuilding; 550 Bowling; 485 Boxing; 486 Cheerleading;
487 College Sports; 491 Cricket; 492 Cycling; 493 Darts; 494 Disabled Sports; 495 Diving; 496 Equine Sports;
498 Extreme Sports; 508 Fantasy Sports; 509 Field Hockey; 510 Figure Skating; 511 Fishing Sports; 512 Golf;
513 Gymnastics; 514 Hunting and Shooting; 515 Ice Hockey; 516 Inline Skating; 517 Lacrosse; 520 Martial Arts;
521 Olympic Sports; 524 Poker and Professional Gambling; 525 Rodeo; 526 Rowing; 527 Rugby; 530 Sailing; 531 Skiing;
532 Snooker/Pool/Billiards; 533 Soccer; 535 Softball; 551 Sports Equipment; 536 Squash; 537 Swimming;
538 Table Tennis; 539 Tennis; 540 Track and Field; 541 Volleyball; 542 Walking; 543 Water Polo; 544 Weightlifting;
546 Wrestling
552 Style & Fashion: 553 Beauty; 574 Body Art; 575 Children's Clothing; 576 Designer Clothing; 577 Fashion Trends;
578 High Fashion; 579 Men's Fashion; 590 Personal Care; 595 Street Style; 560 Women's Fashion
596 Technology & Computing: 597 Artificial Intelligence; 598 Augmented Reality; 599 Computing;
632 Consumer Electronics; 638 Robotics; 639 Virtual Reality
653 Travel: 654 Travel Accessories; 655 Travel Locations; 663 Travel Preparation and Advice; 664 Travel Type
680 Video Gaming: 681 Console Games; 682 eSports; 683 Mobile Games; 684 PC Games; 685 Video Game Genres
389 War and Conflicts`;

const entryOf = (text: string): { code: string; name: string } => {
  const at = text.indexOf(' ');
  return { code: text.slice(0, at), name: text.slice(at + 1) };
};

/** Categories of the taxonomy. Publishers can also use other categories. */
export const contentCategories: readonly ContentCategory[] = source
  .trim()
  .replaceAll(';\n', '; ')
  .split('\n')
  .flatMap((line) => {
    const [first = '', parts] = line.split(': ');
    const top = entryOf(first);
    const rest = (parts?.split('; ') ?? []).map((part) => ({ ...entryOf(part), parent: top.name }));
    return [{ ...top, parent: null }, ...rest];
  });

const nameByCode: ReadonlyMap<string, string> = new Map(
  contentCategories.map(({ code, name }) => [`iab:${code.toLowerCase()}`, name]),
);

const partsOf = new Map<string, string[]>();
for (const { name, parent } of contentCategories)
  if (parent !== null) partsOf.set(plainText(parent), [...(partsOf.get(plainText(parent)) ?? []), plainText(name)]);

/** Normalises a category for comparison. A taxonomy code (`iab:211`) is replaced with the category name. */
export const plainCategory = (category: string): string =>
  plainText(nameByCode.get(category.trim().toLowerCase()) ?? category);

/** Returns the normalised names of a category and its subcategories in the taxonomy. */
function categoriesOf(category: string): readonly string[] {
  const name = plainCategory(category);
  return [name, ...(partsOf.get(name) ?? [])];
}

import { parseUrl } from '../platform/lib/url.ts';
/** Pattern for names of custom and user attributes (docs/reference/fetch-offers.md#request-body). */
export const attributeNamePattern = /^[A-Za-z0-9_.-]{1,64}$/;
export const refusedAttributeNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
export const maxAttributes = 50;
export const maxAttributeLength = 512;

/**
 * Whether a user ID is an e-mail address or a formatted phone number (with `+`, spaces, hyphens or brackets). IDs that
 * consist only of digits are allowed.
 */
export function isPii(id: string): boolean {
  if (/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(id)) return true;
  if (!/^[+\d\s()[\]-]+$/.test(id) || !/\D/.test(id)) return false;
  const digits = id.replace(/\D/g, '').length;
  return digits >= 7 && digits <= 15;
}

/**
 * Maximum number of placements per publisher. Once the limit is reached, requests with new placement names are counted
 * under `other`.
 */
export const maxPlacements = 200;
/** Maximum lengths of placement names and theme keys, in characters. */
export const maxPlacementLength = 128;
export const maxThemeKeyLength = 64;

/**
 * Normalises a placement or theme name: converts it to lower case, and replaces whitespace and underscores with hyphens
 * (docs/reference/fetch-offers.md#placements, docs/reference/themes-and-rendering.md#themes). PostgreSQL also treats
 * U+0085 and, in some locales, U+001C to U+001F as whitespace; JavaScript does not.
 */
export const normaliseName = (name: string): string =>
  name
    .toWellFormed()
    .trim()
    .toLowerCase()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
    .replace(/[\s\u0085\u001c-\u001f_]+/g, '-');

/** ISO 3166-1 alpha-2 and alpha-3 codes, and XK and XKX for Kosovo, which geolocation databases use. */
const codes =
  'AD=AND AE=ARE AF=AFG AG=ATG AI=AIA AL=ALB AM=ARM AO=AGO AQ=ATA AR=ARG AS=ASM AT=AUT AU=AUS AW=ABW AX=ALA AZ=AZE ' +
  'BA=BIH BB=BRB BD=BGD BE=BEL BF=BFA BG=BGR BH=BHR BI=BDI BJ=BEN BL=BLM BM=BMU BN=BRN BO=BOL BQ=BES BR=BRA BS=BHS ' +
  'BT=BTN BV=BVT BW=BWA BY=BLR BZ=BLZ CA=CAN CC=CCK CD=COD CF=CAF CG=COG CH=CHE CI=CIV CK=COK CL=CHL CM=CMR CN=CHN ' +
  'CO=COL CR=CRI CU=CUB CV=CPV CW=CUW CX=CXR CY=CYP CZ=CZE DE=DEU DJ=DJI DK=DNK DM=DMA DO=DOM DZ=DZA EC=ECU EE=EST ' +
  'EG=EGY EH=ESH ER=ERI ES=ESP ET=ETH FI=FIN FJ=FJI FK=FLK FM=FSM FO=FRO FR=FRA GA=GAB GB=GBR GD=GRD GE=GEO GF=GUF ' +
  'GG=GGY GH=GHA GI=GIB GL=GRL GM=GMB GN=GIN GP=GLP GQ=GNQ GR=GRC GS=SGS GT=GTM GU=GUM GW=GNB GY=GUY HK=HKG HM=HMD ' +
  'HN=HND HR=HRV HT=HTI HU=HUN ID=IDN IE=IRL IL=ISR IM=IMN IN=IND IO=IOT IQ=IRQ IR=IRN IS=ISL IT=ITA JE=JEY JM=JAM ' +
  'JO=JOR JP=JPN KE=KEN KG=KGZ KH=KHM KI=KIR KM=COM KN=KNA KP=PRK KR=KOR KW=KWT KY=CYM KZ=KAZ LA=LAO LB=LBN LC=LCA ' +
  'LI=LIE LK=LKA LR=LBR LS=LSO LT=LTU LU=LUX LV=LVA LY=LBY MA=MAR MC=MCO MD=MDA ME=MNE MF=MAF MG=MDG MH=MHL MK=MKD ' +
  'ML=MLI MM=MMR MN=MNG MO=MAC MP=MNP MQ=MTQ MR=MRT MS=MSR MT=MLT MU=MUS MV=MDV MW=MWI MX=MEX MY=MYS MZ=MOZ NA=NAM ' +
  'NC=NCL NE=NER NF=NFK NG=NGA NI=NIC NL=NLD NO=NOR NP=NPL NR=NRU NU=NIU NZ=NZL OM=OMN PA=PAN PE=PER PF=PYF PG=PNG ' +
  'PH=PHL PK=PAK PL=POL PM=SPM PN=PCN PR=PRI PS=PSE PT=PRT PW=PLW PY=PRY QA=QAT RE=REU RO=ROU RS=SRB RU=RUS RW=RWA ' +
  'SA=SAU SB=SLB SC=SYC SD=SDN SE=SWE SG=SGP SH=SHN SI=SVN SJ=SJM SK=SVK SL=SLE SM=SMR SN=SEN SO=SOM SR=SUR SS=SSD ' +
  'ST=STP SV=SLV SX=SXM SY=SYR SZ=SWZ TC=TCA TD=TCD TF=ATF TG=TGO TH=THA TJ=TJK TK=TKL TL=TLS TM=TKM TN=TUN TO=TON ' +
  'TR=TUR TT=TTO TV=TUV TW=TWN TZ=TZA UA=UKR UG=UGA UM=UMI US=USA UY=URY UZ=UZB VA=VAT VC=VCT VE=VEN VG=VGB VI=VIR ' +
  'VN=VNM VU=VUT WF=WLF WS=WSM XK=XKX YE=YEM YT=MYT ZA=ZAF ZM=ZMB ZW=ZWE';

const pairs = codes.split(' ').map((pair) => pair.split('=') as [string, string]);
const alpha2By = new Map(pairs.flatMap(([alpha2, alpha3]) => [[alpha2, alpha2] as const, [alpha3, alpha2] as const]));

/** ISO 3166-1 alpha-2 codes. */
export const countryCodes: readonly string[] = pairs.map(([alpha2]) => alpha2);

/** Whether a string is an alpha-2 country code, in upper or lower case. */
export const isCountry = (code: string): boolean => /^[A-Za-z]{2}$/.test(code) && alpha2By.has(code.toUpperCase());

/**
 * Commonly used codes that are not in ISO 3166-1. The European Union uses EL for Greece and UK for the United Kingdom.
 */
const otherCodes: ReadonlyMap<string, string> = new Map([
  ['UK', 'GB'],
  ['EL', 'GR'],
]);

/**
 * Returns the upper-case alpha-2 code for a two- or three-letter country code in any case, or null if the text is not a
 * country code. `UK` is converted to GB, and `EL` to GR. Only ASCII letters are accepted: otherwise `ß`, whose upper
 * case is `SS`, would become the code of South Sudan.
 */
export function countryOf(code: string): string | null {
  const text = code.trim();
  if (!/^[A-Za-z]{2,3}$/.test(text)) return null;
  const capitals = text.toUpperCase();
  return alpha2By.get(capitals) ?? otherCodes.get(capitals) ?? null;
}

/** Length limits of a text, in characters. */
type TextLimit = {
  /** Maximum length that can be stored and served. */
  maxLength: number;
  /** Maximum length that looks good in every format. If absent, `maxLength` applies. */
  idealLength?: number;
};

/**
 * Length limits of offer copy, by column (docs/reference/themes-and-rendering.md#text-limits). The database also
 * enforces `maxLength`.
 */
export const offerLimits = {
  title: { maxLength: 90, idealLength: 40 },
  description: { maxLength: 220, idealLength: 140 },
  mini_text: { maxLength: 160 },
  short_headline: { maxLength: 60, idealLength: 40 },
  short_description: { maxLength: 140 },
  cta_yes: { maxLength: 25, idealLength: 20 },
  cta_no: { maxLength: 25, idealLength: 20 },
  loyalty_requirements: { maxLength: 160 },
  useraction_cta: { maxLength: 100 },
  terms_and_conditions: { maxLength: 20_000 },
} as const satisfies Record<string, TextLimit>;

/**
 * Length limits of campaign copy, by column, in characters. `tag` applies to each entry of `tags`. The database
 * enforces the other limits.
 */
export const campaignLimits = { category: 100, tag: 100, offer_description: 2000 } as const;

export type LimitedText = keyof typeof offerLimits;

/** Returns the ideal length of a string in characters, or null if there is none. */
export function idealLengthOf(name: LimitedText): number | null {
  const limit: TextLimit = offerLimits[name];
  return limit.idealLength ?? null;
}

/** Macros that can be used in landing URLs (docs/reference/tracking-and-conversions.md#tracking-urls). */
export const landingMacros = [
  'click_id',
  'session_id',
  'placement',
  'offer_id',
  'campaign_id',
  'publisher_id',
  'coupon_code',
] as const;

export type LandingMacro = (typeof landingMacros)[number];

/** Macros that can be used in an advertiser's impression URL. The web SDK replaces them. */
export const pixelMacros = ['cbuster'] as const;

/** Matches a word: a run of letters, marks, digits and underscores. */
const wordPattern = /[\p{L}\p{N}\p{M}_]+/gu;
const lastOfWord = /[\p{L}\p{N}\p{M}_]$/u;
const firstOfWord = /^[\p{L}\p{N}\p{M}_]/u;

/**
 * Matches scripts that do not separate words with spaces. In these scripts, blocked words match anywhere in the copy.
 */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/**
 * Normalises a name or text for comparison: unifies case and Unicode variants, collapses whitespace, and removes
 * invisible characters such as soft hyphens.
 */
export const plainText = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(/\s+/gu, ' ')
    .trim();

type Entry = { word: string; plain: string /** Offset of the first word in `plain`. */; at: number };

/**
 * Returns a function that searches text for whole words and phrases, ignoring case. It returns the first match, spelt
 * as in `words`, or null. Its running time depends on the length of the text but not on the number of words, because
 * entries are indexed by their first word.
 */
export function wordFinder(words: readonly string[]): (text: string) => string | null {
  const byFirst = new Map<string, Entry[]>();
  const anywhere: Entry[] = [];
  for (const word of words) {
    const plain = plainText(word);
    const first = plain.match(wordPattern)?.[0];
    if (plain === '') continue;
    if (first === undefined || unspaced.test(plain)) {
      anywhere.push({ word, plain, at: 0 });
      continue;
    }
    const entries = byFirst.get(first);
    const entry = { word, plain, at: plain.indexOf(first) };
    if (entries === undefined) byFirst.set(first, [entry]);
    else entries.push(entry);
  }
  return (input) => {
    const text = plainText(input);
    for (const { index, 0: first } of text.matchAll(wordPattern)) {
      const match = byFirst.get(first)?.find((entry) => standsAt(text, entry, index - entry.at));
      if (match !== undefined) return match.word;
    }
    return anywhere.find(({ plain }) => text.includes(plain))?.word ?? null;
  };
}

function standsAt(text: string, { plain }: Entry, start: number): boolean {
  if (start < 0 || !text.startsWith(plain, start)) return false;
  return !(lastOfWord.test(plain) && firstOfWord.test(text.slice(start + plain.length, start + plain.length + 2)));
}

/** Whether a string is a valid CSP host source, such as `https://shop.example` or `https://*.shop.example:8443`. */
export const isFrameHost = (text: string): boolean =>
  /^https?:\/\/(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:\d{1,5})?$/.test(text) &&
  text.length <= 300 &&
  parseUrl(text.replace('*.', 'any.')) !== null;

import type { Wanted } from '../platform/i18n/reader.ts';
import { chainOf } from '../platform/lib/language-tags.ts';
import type { TranslatedText, Translation, Translations as TranslationsOf } from './offer-texts.ts';
import type { Creative, Offer } from './types.ts';

type Translations = TranslationsOf<Offer>;

/** null: there is nothing to choose between. */
export function translationsOf(
  { translations = {} }: { translations?: Readonly<Record<string, Translation>> },
  creatives: readonly Creative[],
): Translations | null {
  const entries = Object.entries(translations);
  const pictures = new Set(creatives.flatMap(({ language }) => language?.toLowerCase() ?? []));
  if (entries.length === 0 && pictures.size === 0) return null;
  const texts = new Map(entries.map(([tag, one]) => [tag.toLowerCase(), { tag, texts: one }]));
  return { texts, pictures, shown: new Map() };
}

/** Stands for an offer's own texts, and for pictures of no language. */
const own = '';

/**
 * The offer as a reader is shown it: each text in the first language of theirs that has it, `pt-BR` before `pt`, else
 * the offer's own. Its `language` is that of the most wanted text.
 */
export function localise(offer: Offer, wanted: Wanted, publisher: { language: Wanted }): Offer {
  const { translations } = offer;
  if (translations === null) return offer;
  const textsIn = textLanguage(offer, translations, wanted, publisher.language.key);
  const picturesIn = wanted.chain.find((tag) => translations.pictures.has(tag)) ?? own;
  let byPictures = translations.shown.get(textsIn);
  if (byPictures === undefined) {
    byPictures = new Map();
    translations.shown.set(textsIn, byPictures);
  }
  let shown = byPictures.get(picturesIn);
  if (shown === undefined) {
    shown = translate(offer, translations, textsIn, picturesIn);
    byPictures.set(picturesIn, shown);
  }
  return shown;
}

/** The first wanted language that the offer is in; the same chains of a few tags serve all offers of an answer. */
function textLanguage(
  { language }: Offer,
  { texts }: Translations,
  { chain }: Wanted,
  publisherLanguage: string,
): string {
  const ownTag = (language ?? publisherLanguage).toLowerCase();
  for (const tag of chain) {
    if (texts.has(tag)) return tag;
    if (ownTag === tag || (ownTag.startsWith(tag) && ownTag[tag.length] === '-')) return own;
  }
  return own;
}

function translate(offer: Offer, { texts }: Translations, textsIn: string, picturesIn: string): Offer {
  const creatives = inLanguage(offer.creatives, picturesIn);
  const found = texts.get(textsIn);
  if (found === undefined) return { ...offer, creatives, translations: null };
  const chain = chainOf(found.tag);
  const text = (name: TranslatedText, untranslated: string): string =>
    chain.map((tag) => texts.get(tag)?.texts[name]).find((one) => one !== undefined && one !== '') ?? untranslated;
  const { copy, campaign } = offer;
  return {
    ...offer,
    language: found.tag,
    translations: null,
    copy: {
      title: text('title', copy.title),
      description: text('description', copy.description),
      miniText: text('mini_text', copy.miniText),
      shortHeadline: text('short_headline', copy.shortHeadline),
      shortDescription: text('short_description', copy.shortDescription),
      ctaYes: text('cta_yes', copy.ctaYes),
      ctaNo: text('cta_no', copy.ctaNo),
    },
    campaign: { ...campaign, offerDescription: text('offer_description', campaign.offerDescription) },
    termsAndConditions: text('terms_and_conditions', offer.termsAndConditions),
    loyaltyRequirements: text('loyalty_requirements', offer.loyaltyRequirements),
    useractionCta: text('useraction_cta', offer.useractionCta ?? '') || null,
    creatives,
  };
}

/** Of each type of picture those of the language, where there are any, else those of no language. */
function inLanguage(creatives: readonly Creative[], tag: string): readonly Creative[] {
  const isIn = ({ language }: Creative): boolean => language?.toLowerCase() === tag;
  const translated = new Set(creatives.filter(isIn).map(({ creativeType }) => creativeType));
  return creatives.filter((creative) =>
    translated.has(creative.creativeType) ? isIn(creative) : creative.language === null,
  );
}

/** The texts of an offer in its other languages, for rules that read them. */
export const allTextsOf = ({ translations }: { translations: Offer['translations'] }): Translation[] =>
  translations === null ? [] : [...translations.texts.values()].map(({ texts }) => texts);

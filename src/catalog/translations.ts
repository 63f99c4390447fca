import type { Wanted } from '../platform/i18n/reader.ts';
import { chainOf } from '../platform/lib/language-tags.ts';
import type { TranslatedText, Translation, Translations as TranslationsOf } from './offer-texts.ts';
import type { Creative, Offer } from './types.ts';

type Translations = TranslationsOf<Offer>;

/** Translations of an offer, or null if it has only one language. */
export function translationsOf(
  { translations = {} }: { translations?: Readonly<Record<string, Translation>> },
  creatives: readonly Creative[],
): Translations | null {
  const entries = Object.entries(translations);
  const pictures = new Set(creatives.flatMap(({ language }) => language?.toLowerCase() ?? []));
  if (entries.length === 0 && pictures.size === 0) return null;
  const texts = new Map(entries.map(([tag, translation]) => [tag.toLowerCase(), { tag, texts: translation }]));
  return { texts, pictures, localised: new Map() };
}

/** Key of an offer's original texts, and of pictures without a language. */
const own = '';

/**
 * Returns the offer in a reader's language. Each text is in the first of the reader's languages that has it (`pt-BR`
 * before `pt`), else the original. `language` is that of the most preferred text.
 */
export function localise(offer: Offer, preferred: Wanted, publisher: { language: Wanted }): Offer {
  const { translations } = offer;
  if (translations === null) return offer;
  const textsIn = textLanguage(offer, translations, preferred, publisher.language.key);
  const picturesIn = preferred.chain.find((tag) => translations.pictures.has(tag)) ?? own;
  let byPictures = translations.localised.get(textsIn);
  if (byPictures === undefined) {
    byPictures = new Map();
    translations.localised.set(textsIn, byPictures);
  }
  let localised = byPictures.get(picturesIn);
  if (localised === undefined) {
    localised = translate(offer, translations, textsIn, picturesIn);
    byPictures.set(picturesIn, localised);
  }
  return localised;
}

/** First preferred language that the offer has. All offers of a response share the same few chains of tags. */
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
  const translation = texts.get(textsIn);
  if (translation === undefined) return { ...offer, creatives, translations: null };
  const chain = chainOf(translation.tag);
  const text = (name: TranslatedText, untranslated: string): string =>
    chain.map((tag) => texts.get(tag)?.texts[name]).find((candidate) => candidate !== undefined && candidate !== '') ??
    untranslated;
  const { copy, campaign } = offer;
  return {
    ...offer,
    language: translation.tag,
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

/** Pictures of each type in the language, or those without a language if there are none. */
function inLanguage(creatives: readonly Creative[], tag: string): readonly Creative[] {
  const isIn = ({ language }: Creative): boolean => language?.toLowerCase() === tag;
  const translated = new Set(creatives.filter(isIn).map(({ creativeType }) => creativeType));
  return creatives.filter((creative) =>
    translated.has(creative.creativeType) ? isIn(creative) : creative.language === null,
  );
}

/** Texts of an offer in its other languages, for rules that search them. */
export const allTextsOf = ({ translations }: { translations: Offer['translations'] }): Translation[] =>
  translations === null ? [] : [...translations.texts.values()].map(({ texts }) => texts);

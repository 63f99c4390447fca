/** The copy of an offer. Limits: docs/reference/themes-and-rendering.md#text-limits. */
export type OfferCopy = {
  title: string;
  description: string;
  miniText: string;
  shortHeadline: string;
  shortDescription: string;
  ctaYes: string;
  ctaNo: string;
};

/** Texts of an offer that may be in several languages, by column; `offer_description` is that of its campaign. */
export const translatedTexts = [
  ...(['title', 'description', 'short_headline', 'short_description', 'cta_yes', 'cta_no', 'mini_text'] as const),
  ...(['terms_and_conditions', 'loyalty_requirements', 'useraction_cta', 'offer_description'] as const),
] as const;

export type TranslatedText = (typeof translatedTexts)[number];

/** Texts of an offer in one language; what is absent or empty is looked for in the next one. */
export type Translation = Partial<Record<TranslatedText, string>>;

/** What an offer has in other languages than its own. */
export type Translations<Shown> = {
  /** By tag in lower case, with the tag as it is written. */
  texts: ReadonlyMap<string, { tag: string; texts: Translation }>;
  /** Languages of its pictures, in lower case. */
  pictures: ReadonlySet<string>;
  /** The offer as it is shown, made when it is first needed: by language of its texts, then by that of its pictures. */
  shown: Map<string, Map<string, Shown>>;
};

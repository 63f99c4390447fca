/** Texts of an offer. Limits: docs/reference/themes-and-rendering.md#text-limits. */
export type OfferCopy = {
  title: string;
  description: string;
  miniText: string;
  shortHeadline: string;
  shortDescription: string;
  ctaYes: string;
  ctaNo: string;
};

/** Texts of an offer that can be translated, by column; `offer_description` belongs to its campaign. */
export const translatedTexts = [
  ...(['title', 'description', 'short_headline', 'short_description', 'cta_yes', 'cta_no', 'mini_text'] as const),
  ...(['terms_and_conditions', 'loyalty_requirements', 'useraction_cta', 'offer_description'] as const),
] as const;

export type TranslatedText = (typeof translatedTexts)[number];

/** Texts of an offer in one language. Absent and empty texts fall back to the next language. */
export type Translation = Partial<Record<TranslatedText, string>>;

/** Translations of an offer. */
export type Translations<LocalizedOffer> = {
  /** Texts by lower-case language tag, with the tag as written. */
  texts: ReadonlyMap<string, { tag: string; texts: Translation }>;
  /** Languages of its pictures, in lower case. */
  pictures: ReadonlySet<string>;
  /**
   * Cache of the offer in other languages, filled on first use: by language of the texts, then by language of the
   * pictures.
   */
  localised: Map<string, Map<string, LocalizedOffer>>;
};

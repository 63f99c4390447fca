/** Limits of the length of a text (characters). */
type TextLimit = {
  /** Maximum length that is stored and served. */
  maxLength: number;
  /** Maximum length that looks good in every format; the same as `maxLength` if absent. */
  idealLength?: number;
};

/**
 * Text limits of an offer, by column (docs/reference/themes-and-rendering.md#text-limits). The database also checks
 * `maxLength`.
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
 * Text limits of a campaign, by column (characters). `tag` is the limit for each of `tags`. The database checks the
 * others.
 */
export const campaignLimits = { category: 100, tag: 100, offer_description: 2000 } as const;

export type LimitedText = keyof typeof offerLimits;

/** Ideal length of a field, or null if it has none. */
export function idealLengthOf(name: LimitedText): number | null {
  const limit: TextLimit = offerLimits[name];
  return limit.idealLength ?? null;
}

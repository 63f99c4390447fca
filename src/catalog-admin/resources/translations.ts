import { Type } from '@sinclair/typebox';
import { campaignLimits, idealLengthOf, type LimitedText, offerLimits } from '../../catalog/names.ts';
import { type TranslatedText, type Translation, translatedTexts } from '../../catalog/types.ts';
import { notALanguage } from '../../management/fields.ts';
import type { Values, Warning } from '../../management/resource.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { canonicalTag } from '../../platform/lib/language-tags.ts';
import { sanitiseTerms } from '../../platform/lib/sanitise-terms.ts';
import { problem } from '../../platform/problem.ts';

/** Maximum number of translations per offer. */
const maxLanguages = 200;

/**
 * Returns the maximum length of a string, in characters, which is the same in all languages
 * (docs/reference/themes-and-rendering.md#text-limits).
 */
export const maxLengthOf = (name: TranslatedText): number =>
  name === 'offer_description' ? campaignLimits.offer_description : offerLimits[name].maxLength;

/** Returns the ideal length of a string in characters, or null if there is none. */
export const idealLengthIn = (name: TranslatedText): number | null =>
  name === 'offer_description' ? null : idealLengthOf(name as LimitedText);

const translation = Type.Object(
  Object.fromEntries(
    translatedTexts.map((name) => [name, Type.Optional(Type.String({ maxLength: maxLengthOf(name) }))]),
  ),
  { title: 'OfferTranslation', additionalProperties: false },
);

export const translationsSchema = Type.Record(Type.String(), translation, {
  maxProperties: maxLanguages,
  default: {},
  description:
    'Translated texts by BCP 47 tag, such as `pt-BR`, within the same length limits. A missing or empty text ' +
    "falls back to the parent language (`pt`), and then to the offer's own text.",
});

/** Sanitises the HTML of the terms and conditions. Overlong terms are left for validation to reject. */
export const withCleanTerms = (values: Values): Values =>
  typeof values.terms_and_conditions === 'string' &&
  values.terms_and_conditions.length <= offerLimits.terms_and_conditions.maxLength
    ? { ...values, terms_and_conditions: sanitiseTerms(values.terms_and_conditions) }
    : values;

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Normalises translations: makes language tags canonical, sanitises terms and removes empty strings. A language may end
 * up with no translations.
 */
export function prepareTranslations(values: Values): Values {
  // Don't prepare too many languages, because each one takes 10 to 100 µs. The schema rejects them.
  if (!isObject(values.translations) || Object.keys(values.translations).length > maxLanguages) return values;
  const translations = Object.entries(values.translations).map(([tag, texts]): [string, unknown] => [
    canonicalTag(tag) ?? tag,
    isObject(texts) ? withCleanTerms(withoutEmpty(texts)) : texts,
  ]);
  return { ...values, translations: Object.fromEntries(translations) };
}

const withoutEmpty = (texts: Values): Values =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));

export function checkTranslations({ translations, language }: Values): ErrorDetail[] {
  if (!isObject(translations)) return [];
  return Object.keys(translations).flatMap((tag) => {
    const path = `/translations/${tag}`;
    if (canonicalTag(tag) === null) return [{ path, message: notALanguage }];
    return tag === language ? [{ path, message: problem('ownLanguage') }] : [];
  });
}

/** Returns warnings about missing translations, and about strings that exceed the ideal length. */
export function warnOfTranslations(offer: Values): Warning[] {
  return Object.entries((offer.translations ?? {}) as Record<string, Translation>).flatMap(([tag, texts]) =>
    translatedTexts.flatMap((name) => {
      const path = `/translations/${tag}/${name}`;
      const text = texts[name] ?? '';
      const ideal = idealLengthIn(name);
      const { length } = [...text];
      if (text === '' && (offer[name] ?? '') !== '') return [{ path, message: problem('textMissing') }];
      if (ideal === null || length <= ideal) return [];
      return [{ path, message: problem('longerThanIdeal', { length, ideal }) }];
    }),
  );
}

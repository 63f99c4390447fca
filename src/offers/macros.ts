import { offerLimits } from '../catalog/offer-limits.ts';
import type { OfferCopy } from '../catalog/types.ts';
import { escapeHtml } from '../platform/lib/escape-html.ts';
import type { FetchOffersRequest } from './fetch/request.ts';

/** Longest text of each field that may contain macros (characters). */
const limits: Readonly<Record<keyof OfferCopy, number>> = {
  title: offerLimits.title.maxLength,
  description: offerLimits.description.maxLength,
  miniText: offerLimits.mini_text.maxLength,
  shortHeadline: offerLimits.short_headline.maxLength,
  shortDescription: offerLimits.short_description.maxLength,
  ctaYes: offerLimits.cta_yes.maxLength,
  ctaNo: offerLimits.cta_no.maxLength,
};

const macroPattern = /\{\{\s*([A-Za-z0-9_.-]{1,64})\s*(?:\|([^{}]*))?\}\}/g;

export type MacroValues = Readonly<Record<string, string>>;

const namesByCopy = new WeakMap<OfferCopy, ReadonlySet<string>>();

/** The names of the macros in the copy; parsed once for each copy of a snapshot. */
export function macroNames(copy: OfferCopy): ReadonlySet<string> {
  let names = namesByCopy.get(copy);
  if (names === undefined) {
    names = new Set(
      Object.values(copy).flatMap((value) => [...value.matchAll(macroPattern)].map((match) => match[1] as string)),
    );
    namesByCopy.set(copy, names);
  }
  return names;
}

/** Whether any text of the copy contains a macro. */
export const hasMacros = (copy: OfferCopy): boolean => macroNames(copy).size > 0;

/**
 * The values of macros: the publisher's own attributes, and fields that neither identify a person nor authorise a call.
 * Address, fingerprint and keys are never copied into an offer.
 */
export function macroValuesOf(request: FetchOffersRequest, names: Iterable<string>): MacroValues {
  const known: Record<string, string | null> = {
    placement: request.placement,
    country: request.country,
    pub_user_id: request.pubUserId,
    ua: request.userAgent,
  };
  const values: Record<string, string> = {};
  for (const name of names) {
    const value = request.custom.get(name) ?? (Object.hasOwn(known, name) ? known[name] : null);
    if (value !== null && value !== undefined) values[name] = value;
  }
  return values;
}

/**
 * Fills `{{name}}` and `{{name|fallback}}` (docs/interface.md#fetch-offers): values are HTML-escaped, a missing one is
 * replaced by its fallback or left out, blanks are collapsed, and each text is cut to its limit.
 */
export function fillCopy(copy: OfferCopy, values: MacroValues): OfferCopy {
  const filled = { ...copy };
  for (const field of Object.keys(limits) as (keyof OfferCopy)[]) {
    if (copy[field].includes('{{')) filled[field] = cut(fillText(copy[field], values), limits[field]);
  }
  return filled;
}

/** One text, not cut. */
export function fillText(text: string, values: MacroValues): string {
  return text
    .replace(macroPattern, (_macro, name: string, fallback: string | undefined) => {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      return value === undefined || value.trim() === '' ? (fallback ?? '') : escapeHtml(value);
    })
    .replace(/\s+/g, ' ')
    .replace(/ ([,.!?;:])/g, '$1')
    .trim();
}

/** Cuts to at most `limit` characters, never through an entity or a surrogate pair. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let end = limit;
  if (/[\uD800-\uDBFF]/.test(text[end - 1] as string)) end -= 1;
  const open = text.lastIndexOf('&', end - 1);
  if (open !== -1 && /^&#?\w{0,8}$/.test(text.slice(open, end)) && /^#?\w*;/.test(text.slice(end))) end = open;
  return text.slice(0, end).trimEnd();
}

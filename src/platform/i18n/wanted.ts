import { LRUCache } from 'lru-cache';
import { canonicalTag, chainOf } from '../lib/language-tags.ts';
import { acceptedTags, type Language, unitLanguageOf } from './languages.ts';

/** The languages that an end user reads, the preferred one first. */
export type Wanted = {
  /** BCP 47 tags, separated by commas: what is stored of it. */
  key: string;
  /** Tags in the order in which texts are looked for, in lower case: each one before those that contain it. */
  chain: readonly string[];
  /** The first of them that the words of units are in; null: none. */
  unit: Language | null;
};

/** Tags that are read of a header (count); a header is read up to this length (characters). */
const maxTags = 10;
const maxHeaderLength = 256;

/** Kept answers (count): headers come from clients, and their number must not grow memory. */
const maxKept = 2_000;

const kept = new LRUCache<string, Wanted>({ max: maxKept });

/** `tags`: canonical ones, separated by commas. */
export function wantedOf(tags: string): Wanted {
  let wanted = kept.get(tags);
  if (wanted === undefined) {
    const chain = [...new Set(tags.split(',').flatMap(chainOf))];
    wanted = { key: tags, chain, unit: unitLanguageOf(chain) };
    kept.set(tags, wanted);
  }
  return wanted;
}

const keptTags = new LRUCache<string, { wanted: Wanted | null }>({ max: maxKept });

/** What a tag asks for; null: it is none. To read one takes 2.5 µs. */
export function wantedTag(text: string): Wanted | null {
  let known = keptTags.get(text);
  if (known === undefined) {
    const tag = canonicalTag(text);
    known = { wanted: tag === null ? null : wantedOf(tag) };
    keptTags.set(text, known);
  }
  return known.wanted;
}

const keptHeaders = new LRUCache<string, { wanted: Wanted | null }>({ max: maxKept });

/** What an `Accept-Language` header asks for; null: for no language in particular. */
export function acceptedLanguages(header: string): Wanted | null {
  const text = header.length <= maxHeaderLength ? header : header.slice(0, header.lastIndexOf(',', maxHeaderLength));
  let known = keptHeaders.get(text);
  if (known === undefined) {
    const tags = acceptedTags(text).flatMap((tag) => canonicalTag(tag) ?? []);
    const key = [...new Set(tags)].slice(0, maxTags).join(',');
    known = { wanted: key === '' ? null : wantedOf(key) };
    keptHeaders.set(text, known);
  }
  return known.wanted;
}

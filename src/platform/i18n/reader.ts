import { AsyncLocalStorage } from 'node:async_hooks';
import { LRUCache } from 'lru-cache';
import { chainOf, directionOf, tagOfLocale } from '../lib/language-tags.ts';
import {
  acceptedTags,
  isReaderLanguage,
  type Language,
  languageOf,
  languages,
  type ReaderLanguage,
  unitLanguageOf,
} from './languages.ts';

/**
 * Reader of a response. `locale` is the BCP 47 tag of the language with a region, for dates and numbers. `direction` is
 * set if the writing direction of the reader's own language differs from that of the messages.
 */
export type Reader = { language: Language; locale: string; direction?: Direction };

type Direction = ReturnType<typeof directionOf>;

/** Locale in which every message is wrapped in ⟦ ⟧, which reveals strings that are not in the message files. */
export const pseudoLocale = 'en-XA';

/**
 * Reader of a request. The language is the one that the user has set, else the first of the dashboard's that
 * `Accept-Language` contains, else English. The region is the first accepted one of that language.
 */
export function readerOf(acceptLanguage: string | undefined, set: ReaderLanguage | null = null): Reader {
  const accepted = acceptedTags(acceptLanguage).flatMap((tag) => {
    const [, name = '', region] = /^([a-z]{2})(?:-([a-z]{2}))?$/i.exec(tag) ?? [];
    const language = name.toLowerCase();
    return isReaderLanguage(language) ? [{ language, region: region?.toUpperCase() }] : [];
  });
  const language = set ?? accepted[0]?.language ?? 'en';
  const region = accepted.find((accept) => accept.language === language && accept.region !== undefined)?.region;
  return { language, locale: region === undefined ? languages[language].locale : `${language}-${region}` };
}

/**
 * Language tags that the reader of a hosted page prefers, in this order: those of the URL (`language` or `lang`), of
 * the page's session, and of `Accept-Language`.
 */
function requestTags(query: unknown, acceptLanguage: string | undefined, sessionTags: string | null): string[] {
  const { language, lang } = (query ?? {}) as Record<string, unknown>;
  return [language, lang, ...(sessionTags?.split(',') ?? []), ...acceptedTags(acceptLanguage)].flatMap((tag) =>
    typeof tag === 'string' ? (tagOfLocale(tag) ?? []) : [],
  );
}

/** Language of a hosted page: the first preferred language that has messages, or English. */
export function requestLanguage(
  query: unknown,
  acceptLanguage: string | undefined,
  sessionTags: string | null = null,
): Language {
  const tags = requestTags(query, acceptLanguage, sessionTags);
  return tags.map(languageOf).find((supported) => supported !== null) ?? 'en';
}

/**
 * While it is enabled, Node 20 and 22 track every promise of the process, which slows down each request. So it is
 * disabled when no work in progress has a reader (docs/adr/0030-readers-while-needed.md).
 */
const readers = new AsyncLocalStorage<Reader>();
let underWay = 0;

/**
 * Enables readers for work that starts from now on.
 * @returns a function that ends this; after the last one, no work has a reader
 */
export function keepReaders(): () => void {
  underWay += 1;
  let isEnded = false;
  return () => {
    if (isEnded) return;
    isEnded = true;
    underWay -= 1;
    if (underWay === 0) readers.disable();
  };
}

const byDefault: Reader = { language: 'en', locale: languages.en.locale };

/** Reader of the current request; English by default. */
export const reader = (): Reader => readers.getStore() ?? byDefault;

/**
 * Runs a function with the messages for a reader. If it returns a promise, the reader stays set until the promise is
 * settled.
 */
export function asReader<T>(forReader: Reader, run: () => T): T {
  const end = keepReaders();
  let lasts = false;
  try {
    const result = readers.run(forReader, run);
    lasts = result instanceof Promise;
    if (lasts) (result as Promise<unknown>).then(end, end);
    return result;
  } finally {
    if (!lasts) end();
  }
}

/** Runs a function in a language, for work without a request, such as an e-mail; null uses the default language. */
export const inLanguage = <T>(language: Language | null, run: () => T): T =>
  asReader(language === null ? byDefault : { language, locale: languages[language].locale }, run);

type HostedRequest = { query: unknown; headers: { 'accept-language'?: string | undefined } };

/**
 * Runs a function in the language of a hosted page. The writing direction is that of the most preferred language, even
 * if that language has no messages. `sessionTags` are the languages of the page's session.
 */
export function inRequestLanguage<T>(
  { query, headers }: HostedRequest,
  run: () => T,
  sessionTags: string | null = null,
): T {
  const language = requestLanguage(query, headers['accept-language'], sessionTags);
  const [first] = requestTags(query, headers['accept-language'], sessionTags);
  const direction = first === undefined ? languages[language].direction : directionOf(first);
  return asReader({ language, locale: languages[language].locale, direction }, run);
}

/** Languages that an end user reads, the preferred one first. */
export type Wanted = {
  /** BCP 47 tags separated by commas, as stored. */
  key: string;
  /** Tags in the order in which translations are searched, in lower case. Specific tags come before general ones. */
  chain: readonly string[];
  /** First of the tags for which units have translations, or null if there is none. */
  unit: Language | null;
};

/** Maximum number of tags read from a header, and maximum length of the header (characters). */
const maxTags = 10;
const maxHeaderLength = 256;

/** Maximum number of cached results. Clients choose their headers, which must not make memory grow. */
const maxKept = 2_000;

const byTagList = new LRUCache<string, Wanted>({ max: maxKept });

/** Returns the languages of a list. `tags` are canonical tags separated by commas. */
export function wantedOf(tags: string): Wanted {
  let preferred = byTagList.get(tags);
  if (preferred === undefined) {
    const chain = [...new Set(tags.split(',').flatMap(chainOf))];
    preferred = { key: tags, chain, unit: unitLanguageOf(chain) };
    byTagList.set(tags, preferred);
  }
  return preferred;
}

const keptTags = new LRUCache<string, { preferred: Wanted | null }>({ max: maxKept });

/** Languages of a tag or a platform's locale name, or null if it names none. Parsing one takes 3 µs. */
export function wantedTag(text: string): Wanted | null {
  let cached = keptTags.get(text);
  if (cached === undefined) {
    const tag = tagOfLocale(text);
    cached = { preferred: tag === null ? null : wantedOf(tag) };
    keptTags.set(text, cached);
  }
  return cached.preferred;
}

const keptHeaders = new LRUCache<string, { preferred: Wanted | null }>({ max: maxKept });

/** Languages that an `Accept-Language` header prefers, or null if it names none. */
export function acceptedLanguages(header: string): Wanted | null {
  const text = header.length <= maxHeaderLength ? header : header.slice(0, header.lastIndexOf(',', maxHeaderLength));
  let cached = keptHeaders.get(text);
  if (cached === undefined) {
    const tags = acceptedTags(text).flatMap((tag) => tagOfLocale(tag) ?? []);
    const key = [...new Set(tags)].slice(0, maxTags).join(',');
    cached = { preferred: key === '' ? null : wantedOf(key) };
    keptHeaders.set(text, cached);
  }
  return cached.preferred;
}

/** Formats a day in the reader's language and a time zone: that of the publisher, for its users. */
export const longDay = (at: Date, timeZone: string): string =>
  new Intl.DateTimeFormat(reader().locale, { dateStyle: 'long', timeZone }).format(at);

/** Formats the last day before an end (ISO 8601). For an end at midnight, it is the previous day. */
export const lastDay = (endsAt: string, timeZone: string): string =>
  longDay(new Date(Date.parse(endsAt) - 1), timeZone);

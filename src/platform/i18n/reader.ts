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
 * `locale`: BCP 47 tag of the language with a region, for dates and numbers. `direction`: of a reader whose own
 * language runs otherwise than that of the words; absent: as the words.
 */
export type Reader = { language: Language; locale: string; direction?: Direction };

type Direction = ReturnType<typeof directionOf>;

/** In this locale every message stands in ⟦ ⟧, which shows texts that are not in the message files. */
export const pseudoLocale = 'en-XA';

/**
 * The reader of a request: in the language they have set, else the first of the dashboard's that `Accept-Language`
 * names, else English; with the first accepted region of that language.
 */
export function readerOf(acceptLanguage: string | undefined, set: ReaderLanguage | null = null): Reader {
  const accepted = acceptedTags(acceptLanguage).flatMap((tag) => {
    const [, name = '', region] = /^([a-z]{2})(?:-([a-z]{2}))?$/i.exec(tag) ?? [];
    const language = name.toLowerCase();
    return isReaderLanguage(language) ? [{ language, region: region?.toUpperCase() }] : [];
  });
  const language = set ?? accepted[0]?.language ?? 'en';
  const region = accepted.find((one) => one.language === language && one.region !== undefined)?.region;
  return { language, locale: region === undefined ? languages[language].locale : `${language}-${region}` };
}

/**
 * What the reader of a hosted page asks for, the most wanted first: in the URL (`language` or `lang`), then in the
 * session that the page belongs to, then in `Accept-Language`.
 */
function requestTags(query: unknown, acceptLanguage: string | undefined, sessionTags: string | null): string[] {
  const { language, lang } = (query ?? {}) as Record<string, unknown>;
  return [language, lang, ...(sessionTags?.split(',') ?? []), ...acceptedTags(acceptLanguage)].flatMap((tag) =>
    typeof tag === 'string' ? (tagOfLocale(tag) ?? []) : [],
  );
}

/** The language of a hosted page: the first that is asked for and here, else English. */
export function requestLanguage(
  query: unknown,
  acceptLanguage: string | undefined,
  sessionTags: string | null = null,
): Language {
  const tags = requestTags(query, acceptLanguage, sessionTags);
  return tags.map(languageOf).find((one) => one !== null) ?? 'en';
}

/*
 * While it is enabled, Node 20 and 22 follow every promise of the process, which costs each request. So it is disabled
 * whenever nothing under way has a reader (docs/adr/0030-readers-while-needed.md).
 */
const readers = new AsyncLocalStorage<Reader>();
let underWay = 0;

/** Keeps readers of what is started from now on. @returns ends that; once there are no others, none has a reader */
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

/** Whom the running request answers; English where nobody was named. */
export const reader = (): Reader => readers.getStore() ?? byDefault;

/** Runs a function with the texts of this reader; one that returns a promise, until that is settled. */
export function asReader<T>(one: Reader, run: () => T): T {
  const end = keepReaders();
  let lasts = false;
  try {
    const result = readers.run(one, run);
    lasts = result instanceof Promise;
    if (lasts) (result as Promise<unknown>).then(end, end);
    return result;
  } finally {
    if (!lasts) end();
  }
}

/** The same in a language, for work without a request, such as a mail; null: the default language. */
export const inLanguage = <T>(language: Language | null, run: () => T): T =>
  asReader(language === null ? byDefault : { language, locale: languages[language].locale }, run);

type HostedRequest = { query: unknown; headers: { 'accept-language'?: string | undefined } };

/**
 * The same in the language of a hosted page, in the direction of the language that is asked for first, also where its
 * words are not here. `sessionTags`: of the session that the page belongs to.
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

/** Languages of a tag or of the name that a platform has for a locale; null: it names none. Reading one takes 3 µs. */
export function wantedTag(text: string): Wanted | null {
  let known = keptTags.get(text);
  if (known === undefined) {
    const tag = tagOfLocale(text);
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
    const tags = acceptedTags(text).flatMap((tag) => tagOfLocale(tag) ?? []);
    const key = [...new Set(tags)].slice(0, maxTags).join(',');
    known = { wanted: key === '' ? null : wantedOf(key) };
    keptHeaders.set(text, known);
  }
  return known.wanted;
}

/** A day in the language of the reader, by the calendar of a zone: that of the publisher, for its users. */
export const longDay = (at: Date, timeZone: string): string =>
  new Intl.DateTimeFormat(reader().locale, { dateStyle: 'long', timeZone }).format(at);

/** The last day before an end (ISO 8601): the day before one at midnight. */
export const lastDay = (endsAt: string, timeZone: string): string =>
  longDay(new Date(Date.parse(endsAt) - 1), timeZone);

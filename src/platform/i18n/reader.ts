import { AsyncLocalStorage } from 'node:async_hooks';
import { acceptedTags } from '../messages/languages.ts';

/** The languages of the dashboard and its mails, each with the region whose dates and numbers it uses by default. */
export const defaultLocales = { en: 'en-GB', de: 'de-DE' } as const;

export type ReaderLanguage = keyof typeof defaultLocales;

/** `locale`: BCP 47 tag of the language with a region, for dates and numbers. */
export type Reader = { language: ReaderLanguage; locale: string };

export const isReaderLanguage = (name: unknown): name is ReaderLanguage =>
  typeof name === 'string' && Object.hasOwn(defaultLocales, name);

/** In this locale every message stands in ⟦ ⟧, which shows texts that are not in the message files. */
export const pseudoLocale = 'en-XA';

/**
 * The reader of a request: in the language they have set, else the first known one of `Accept-Language`, else English;
 * with the first accepted region of that language.
 */
export function readerOf(acceptLanguage: string | undefined, set: ReaderLanguage | null = null): Reader {
  const accepted = acceptedTags(acceptLanguage).flatMap((tag) => {
    const [, name = '', region] = /^([a-z]{2})(?:-([a-z]{2}))?$/i.exec(tag) ?? [];
    const language = name.toLowerCase();
    return isReaderLanguage(language) ? [{ language, region: region?.toUpperCase() }] : [];
  });
  const language = set ?? accepted[0]?.language ?? 'en';
  const region = accepted.find((one) => one.language === language && one.region !== undefined)?.region;
  return { language, locale: region === undefined ? defaultLocales[language] : `${language}-${region}` };
}

const readers = new AsyncLocalStorage<Reader>();

const byDefault: Reader = { language: 'en', locale: defaultLocales.en };

/** Whom the running request answers; English where nobody was named. */
export const reader = (): Reader => readers.getStore() ?? byDefault;

/** Runs a function, and what it starts, with the texts of this reader. */
export const asReader = <T>(one: Reader, run: () => T): T => readers.run(one, run);

/** The same for work without a request, such as a mail; null: the default language. */
export const inLanguage = <T>(language: ReaderLanguage | null, run: () => T): T =>
  asReader(readerOf(undefined, language), run);

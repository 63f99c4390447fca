import { type Html, html } from '../platform/http/html.ts';
import { reader } from '../platform/i18n/reader.ts';
import { isTimeZone } from '../platform/lib/time-zone.ts';

const maxFormats = 2000;

/** Caches formats by kind for each locale of readers, because creating them is expensive. */
export function perLocale<T>(create: (locale: string, kind: string) => T): (kind: string) => T {
  const formats = new Map<string, T>();
  return (kind) => {
    const { locale } = reader();
    const key = `${locale} ${kind}`;
    let format = formats.get(key);
    if (format === undefined) {
      format = create(locale, kind);
      if (formats.size > maxFormats) formats.clear();
      formats.set(key, format);
    }
    return format;
  };
}

type Precision = 'minute' | 'second' | 'day';

/** Format of days: `9 Nov 2026`. `dateStyle` shows the month as a number in some languages. */
export const dayForm = { day: 'numeric', month: 'short', year: 'numeric' } as const;

const timeForms = {
  day: {},
  minute: { hour: '2-digit', minute: '2-digit' },
  second: { hour: '2-digit', minute: '2-digit', second: '2-digit' },
} as const satisfies Record<Precision, Intl.DateTimeFormatOptions>;

const dateFormat = perLocale((locale, kind) => {
  const [precision = '', timeZone = ''] = kind.split(' ');
  const zone = isTimeZone(timeZone) ? timeZone : 'UTC';
  return new Intl.DateTimeFormat(locale, { ...dayForm, ...timeForms[precision as Precision], timeZone: zone });
});

type Zone = { timeZone: string };

/** A time in the publisher's time zone, as text. */
export const momentText = ({ timeZone }: Zone, at: Date | number, precision: Precision = 'minute'): string =>
  dateFormat(`${precision} ${timeZone}`).format(at);

/** A time as text with its machine-readable form. */
export function moment(zone: Zone, at: Date | string, precision: Precision = 'minute'): Html {
  const date = new Date(at);
  const iso = date.toISOString();
  return html`<time datetime="${iso}" title="${iso}">${momentText(zone, date, precision)}</time>`;
}

/** A time that may be absent, such as the end of something that is still running. */
export const momentOr = (zone: Zone, at: Date | string | null, absent = '–'): Html | string =>
  at === null ? absent : moment(zone, at, 'second');

/** Time zone of pages without a publisher. */
export const utc = { timeZone: 'UTC' };

const numberKinds: Record<string, Intl.NumberFormatOptions> = {
  whole: { maximumFractionDigits: 0 },
  compact: { notation: 'compact', maximumFractionDigits: 1 },
  share: { style: 'percent', maximumFractionDigits: 2 },
  change: { style: 'percent', maximumFractionDigits: 1, signDisplay: 'exceptZero' },
  size: { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 },
  largeSize: { style: 'percent', maximumFractionDigits: 0 },
  rough: { style: 'percent', maximumSignificantDigits: 2 },
  tenths: { maximumFractionDigits: 1 },
  hundredths: { minimumFractionDigits: 2, maximumFractionDigits: 2 },
};

const numberFormat = perLocale((locale, kind) => new Intl.NumberFormat(locale, numberKinds[kind]));
const regionNames = perLocale((locale) => new Intl.DisplayNames([locale], { type: 'region', fallback: 'code' }));

export const count = (value: number): string =>
  numberFormat(Math.abs(value) >= 100_000 ? 'compact' : 'whole').format(value);
/** Number with two decimals, such as an amount without its currency. */
export const decimal = (value: number): string => numberFormat('hundredths').format(value);
/** Percentage of a share from 0 to 1. */
export const percent = (value: number): string => numberFormat('share').format(value);

/** A relative change, such as `+4.1 %` for 0.041. */
export const change = (value: number): string => numberFormat('change').format(value);

/** A relative change without its sign, such as `4.1 %` for 0.041. From tenfold on, it has no decimals. */
export const changeSize = (value: number): string => numberFormat(value < 10 ? 'size' : 'largeSize').format(value);

/** An approximate share, such as `0.034 %` for 0.00034. */
export const roughPercent = (value: number): string => numberFormat('rough').format(value);

/** A duration (milliseconds). */
export const milliseconds = (value: number): string => `${numberFormat('tenths').format(value)} ms`;

const languageNames = perLocale((locale) => new Intl.DisplayNames(locale, { type: 'language' }));

/** Name of a language, such as "German" for `de`. `tag` must be canonical. */
export const languageName = (tag: string): string => languageNames('').of(tag) ?? tag;

/** Name of a country, such as "Germany" for DE, or the code itself if it is unknown. */
export const countryName = (code: string): string =>
  /^[A-Z]{2}$/.test(code) ? (regionNames('').of(code) ?? code) : code;

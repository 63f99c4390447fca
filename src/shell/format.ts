import { type Html, html } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { reader } from '../platform/i18n/reader.ts';
import { findUnknownLanguage } from '../platform/lib/language-names.ts';
import { instantOf, isTimeZone, offsetMs, timeOf } from '../platform/lib/time-zone.ts';
import { isKnownZone } from '../platform/lib/zone-names.ts';
import { unknownCurrency } from '../platform/money.ts';

const maxFormats = 2000;

/** Creates a cache of formatters, one per kind and reader locale, because creating them is expensive. */
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

/** Date format, such as `9 Nov 2026`. It does not use `dateStyle`, which shows numeric months in some languages. */
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

/** Formats a time as text in the publisher's time zone. */
export const momentText = ({ timeZone }: Zone, at: Date | number, precision: Precision = 'minute'): string =>
  dateFormat(`${precision} ${timeZone}`).format(at);

/** Renders a time as text, with a machine-readable `datetime` value. */
export function moment(zone: Zone, at: Date | string, precision: Precision = 'minute'): Html {
  const date = new Date(at);
  const iso = date.toISOString();
  return html`<time datetime="${iso}" title="${iso}">${momentText(zone, date, precision)}</time>`;
}

/** Renders a time that may be absent, such as the end of an experiment that is still running. */
export const momentOr = (zone: Zone, at: Date | string | null, absent = '–'): Html | string =>
  at === null ? absent : moment(zone, at, 'second');

/** Time zone of pages that do not belong to a publisher. */
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
  exact: { maximumSignificantDigits: 12 },
  hundredths: { minimumFractionDigits: 2, maximumFractionDigits: 2 },
};

const numberFormat = perLocale((locale, kind) => new Intl.NumberFormat(locale, numberKinds[kind]));
const regionNames = perLocale((locale) => new Intl.DisplayNames([locale], { type: 'region', fallback: 'code' }));

export const count = (value: number): string =>
  numberFormat(Math.abs(value) >= 100_000 ? 'compact' : 'whole').format(value);
/** Formats a number with two decimals, such as an amount without its currency. */
export const decimal = (value: number): string => numberFormat('hundredths').format(value);
/** Formats a number with all its decimals, such as an exchange rate. */
export const exactNumber = (value: number): string => numberFormat('exact').format(value);
/** Formats a ratio from 0 to 1 as a percentage. */
export const percent = (value: number): string => numberFormat('share').format(value);

/** Formats a relative change with its sign, such as `+4.1%` for 0.041. */
export const change = (value: number): string => numberFormat('change').format(value);

/** Formats a relative change without its sign, such as `4.1%` for 0.041. Values of 10 or more have no decimals. */
export const changeSize = (value: number): string => numberFormat(value < 10 ? 'size' : 'largeSize').format(value);

/** Formats a small ratio as an approximate percentage, such as `0.034%` for 0.00034. */
export const roughPercent = (value: number): string => numberFormat('rough').format(value);

/** Formats a duration in milliseconds. */
export const milliseconds = (value: number): string => `${numberFormat('tenths').format(value)} ms`;

/** Formats a size with a unit, such as `1.5 MB`. */
export function byteSize(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  const size = sizeFormat(power === 0 ? 'whole' : 'decimal').format(value / 1000 ** power);
  return t('operator.bytes', { size, unit: units[power] ?? '' });
}

const sizeFormat = perLocale((locale, kind) => {
  const digits = kind === 'whole' ? 0 : 1;
  return new Intl.NumberFormat(locale, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    useGrouping: false,
  });
});

const languageNames = perLocale((locale) => new Intl.DisplayNames(locale, { type: 'language' }));

/** Returns the name of a language, such as "German" for `de`. `tag` must be canonical. */
export const languageName = (tag: string): string => languageNames('').of(tag) ?? tag;

/** Returns why a text is not the code of a language, or null if it is. */
export function unknownLanguageText(text: string): string | null {
  const unknown = findUnknownLanguage(text);
  if (unknown === null) return null;
  const { part, suggestion } = unknown;
  return suggestion === null
    ? t('languages.noTag', { part })
    : t('languages.didYouMean', { part, suggestion, name: languageName(suggestion) });
}

/** Returns the name of a country, such as "Germany" for DE, or the code itself if it is unknown. */
export const countryName = (code: string): string =>
  /^[A-Z]{2}$/.test(code) ? (regionNames('').of(code) ?? code) : code;

function style(currency: string): Intl.NumberFormatOptions {
  if (currency === '') return { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  // Show the currency code for the unknown currency, because its symbol is less clear.
  return { style: 'currency', currency, ...(currency === unknownCurrency && { currencyDisplay: 'code' }) };
}

const format = perLocale((locale, currency) => new Intl.NumberFormat(locale, style(currency)));
const formatSmall = perLocale(
  (locale, currency) => new Intl.NumberFormat(locale, { ...style(currency), maximumSignificantDigits: 2 }),
);

/**
 * Creates a formatter for amounts in a currency. If `currency` is null, amounts are plain numbers, because the currency
 * is shown next to them. Amounts that would round to 0, such as a click payout of 0.4 yen, keep two digits.
 */
export const moneyFormat =
  (currency: string | null): ((value: number) => string) =>
  (value) => {
    const usual = format(currency ?? '');
    const { maximumFractionDigits: digits = 2 } = usual.resolvedOptions();
    const isHidden = value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits;
    return (isHidden ? formatSmall(currency ?? '') : usual).format(value);
  };

/**
 * Converts the value of a date-time field, such as `2026-11-27T09:00`, to an RFC 3339 time with an offset. Any other
 * text is returned unchanged, so that validation rejects it.
 */
export function localToInstant(text: string, timeZone: string): string {
  const localMs = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  if (Number.isNaN(localMs)) return text;
  return withOffset(instantOf(timeZone, localMs), timeZone);
}

/** Converts an RFC 3339 time to the value for a date-time field. Any other text is returned unchanged. */
export function instantToLocal(text: string, timeZone: string): string {
  const atMs = timeOf(text);
  if (atMs === null || Number.isNaN(atMs)) return text;
  return new Date(atMs + offsetMs(timeZone, atMs)).toISOString().slice(0, 16);
}

/**
 * Converts the value of a date-time field to an RFC 3339 time. If the user did not change the field, returns `stored`,
 * which preserves its seconds and offset.
 */
export const editedInstant = (typed: string, stored: string, timeZone: string): string =>
  typed === instantToLocal(stored, timeZone) ? stored : localToInstant(typed, timeZone);

function withOffset(atMs: number, timeZone: string): string {
  const offset = offsetMs(timeZone, atMs);
  const minutes = Math.abs(offset) / 60_000;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const sign = offset < 0 ? '-' : '+';
  const zone = offset === 0 ? 'Z' : `${sign}${two(minutes / 60)}:${two(minutes % 60)}`;
  return `${new Date(atMs + offset).toISOString().slice(0, 19)}${zone}`;
}

/** Time zones that Unicode still lists under their old names (CLDR, timezone.xml), mapped to their current names. */
const renamed: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
};

const supported = Intl.supportedValuesOf('timeZone')
  .map((zone) => renamed[zone] ?? zone)
  .filter(isKnownZone);

/** All time zones under their current IANA names. */
const timeZones: readonly string[] = ['UTC', ...new Set(supported.filter((zone) => zone !== 'UTC').sort())];

const words = (zone: string): string => zone.replaceAll('_', ' ').toLowerCase();
const cityOf = (zone: string): string => words(zone.slice(zone.lastIndexOf('/') + 1));

/**
 * Returns the time zone that matches the entered text, which may be just a city, such as "new york". If no time zone
 * matches, returns the text itself.
 */
export function timeZoneNamed(typed: string): string {
  if (isKnownZone(typed)) return typed;
  const query = words(typed.trim());
  const match = timeZones.find((zone) => words(zone) === query);
  if (match !== undefined) return match;
  const ofCity = timeZones.filter((zone) => cityOf(zone) === query);
  return ofCity.length === 1 ? (ofCity[0] as string) : typed;
}

/** Element ID of {@link timeZoneList}, for the `list` attribute of input fields. */
export const timeZoneListId = 'time-zones';

const lists = perLocale((locale) => {
  const nameOf = (zone: string): string =>
    new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'longGeneric' })
      .formatToParts(0)
      .find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const options = timeZones.map((zone) => html`<option value="${zone}">${nameOf(zone)}</option>`);
  return html`<datalist id="${timeZoneListId}" translate="no">${options}</datalist>`;
});

/** Renders time zone suggestions, which can be searched by IANA name, city and display name. */
export const timeZoneList = (): Html => lists('');

/** Labels for API fields that are clear even outside their form. */
const labels: Readonly<Record<string, MessageKey>> = {
  active: 'campaigns.active',
  adv_pixel_url: 'offers.advertiserPixel',
  advertiser_id: 'campaigns.advertiser',
  arms: 'experiments.compared',
  campaign_id: 'dimensions.campaign',
  category: 'campaigns.category',
  changes: 'drafts.changes',
  click_id_param: 'campaigns.clickIdParam',
  creative_type: 'offers.imageType',
  cta_no: 'offers.noButton',
  cta_yes: 'offers.yesButton',
  currency_multiplier: 'settings.loyaltyRate',
  currency_name: 'settings.loyaltyCurrency',
  default_placement: 'settings.defaultPlacement',
  delivery_percentage: 'settings.deliveryPercentage',
  description: 'offers.description',
  display_name: 'settings.displayName',
  email: 'common.email',
  end_at: 'campaigns.end',
  expires_at: 'settings.expires',
  frequency_caps: 'campaigns.frequencyCapping',
  goal: 'campaigns.goal',
  headers: 'webhooks.headers',
  holdout: 'experiments.holdout',
  is_loyalty: 'campaigns.isLoyalty',
  is_product: 'campaigns.isProduct',
  key: 'themes.key',
  landing_url: 'campaigns.landingPage',
  language: 'offers.language',
  layer: 'experiments.layer',
  allowed_user_agents: 'settings.allowedUserAgents',
  learning_excluded_keys: 'settings.learningExcludedKeys',
  loyalty_requirements: 'offers.loyaltyRequirements',
  mini_text: 'offers.disclaimer',
  name: 'common.name',
  offer_description: 'campaigns.fullDescription',
  offers_per_response: 'settings.offerCount',
  offerwall_enabled: 'settings.offerwall',
  opt_out_days: 'campaigns.optOutDays',
  overspend_percent: 'campaigns.overspend',
  password: 'account.password',
  payout_amount: 'campaigns.amount',
  payout_currency: 'campaigns.currency',
  offer_id: 'dimensions.offer',
  payout_kind: 'campaigns.model',
  permissions: 'settings.permissions',
  placement: 'settings.placement',
  placements: 'experiments.placements',
  positions: 'settings.positions',
  priority: 'campaigns.priority',
  privacy_text: 'settings.privacyText',
  privacy_url: 'settings.privacyUrl',
  role: 'account.role',
  rule_details: 'controls.detailsField',
  short_description: 'offers.shortDescription',
  short_headline: 'offers.shortHeadline',
  size: 'audiences.members',
  start_at: 'campaigns.start',
  state: 'alerts.state',
  stopped: 'stop.stopped',
  tags: 'campaigns.tags',
  terms_and_conditions: 'offers.terms',
  test_mode: 'settings.testMode',
  theme_id: 'settings.theme',
  time_zone: 'settings.timeZone',
  ranking: 'campaigns.ranking',
  title: 'offers.headline',
  translations: 'languages.title',
  unit_enabled: 'settings.unit',
  url: 'webhooks.url',
  useraction_cta: 'offers.secondaryAction',
  useraction_url: 'offers.secondaryActionUrl',
  usp_enabled: 'settings.usp',
  wallet_enabled: 'settings.wallet',
  weight: 'campaigns.weight',
};

/** Returns the label of an API field in the reader's language, or the field name if there is no label. */
export function fieldName(name: string): string {
  return Object.hasOwn(labels, name) ? t(labels[name] as MessageKey) : name.replaceAll('_', ' ');
}

import { type Html, html } from '../platform/http/html.ts';
import { isKnownZone } from '../platform/lib/zone-names.ts';
import { perLocale } from './format.ts';

/** Zones that Unicode keeps under the names they had at first (CLDR, timezone.xml), with those of today. */
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

/** Every time zone, under its current IANA name. */
const timeZones: readonly string[] = ['UTC', ...new Set(supported.filter((zone) => zone !== 'UTC').sort())];

const words = (zone: string): string => zone.replaceAll('_', ' ').toLowerCase();
const cityOf = (zone: string): string => words(zone.slice(zone.lastIndexOf('/') + 1));

/** The zone that a typed text names, also by its city alone, such as "new york"; the text itself where none does. */
export function timeZoneNamed(typed: string): string {
  if (isKnownZone(typed)) return typed;
  const asked = words(typed.trim());
  const named = timeZones.find((zone) => words(zone) === asked);
  if (named !== undefined) return named;
  const ofCity = timeZones.filter((zone) => cityOf(zone) === asked);
  return ofCity.length === 1 ? (ofCity[0] as string) : typed;
}

/** Id of {@link timeZoneList}, for the `list` of fields. */
export const timeZoneListId = 'time-zones';

const lists = perLocale((locale) => {
  const nameOf = (zone: string): string =>
    new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'longGeneric' })
      .formatToParts(0)
      .find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const options = timeZones.map((zone) => html`<option value="${zone}">${nameOf(zone)}</option>`);
  return html`<datalist id="${timeZoneListId}" translate="no">${options}</datalist>`;
});

/** Zones to search in while typing, by name, city and what their time is called. */
export const timeZoneList = (): Html => lists('');

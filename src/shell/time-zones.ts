import { type Html, html } from '../platform/http/html.ts';
import { isKnownZone } from '../platform/lib/zone-names.ts';
import { perLocale } from './format.ts';

/** Zones that Unicode keeps under their original names (CLDR, timezone.xml), with their current names. */
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

/** All time zones with their current IANA names. */
const timeZones: readonly string[] = ['UTC', ...new Set(supported.filter((zone) => zone !== 'UTC').sort())];

const words = (zone: string): string => zone.replaceAll('_', ' ').toLowerCase();
const cityOf = (zone: string): string => words(zone.slice(zone.lastIndexOf('/') + 1));

/** Zone for a typed text, which may be only a city, such as "new york". Returns the text itself if there is none. */
export function timeZoneNamed(typed: string): string {
  if (isKnownZone(typed)) return typed;
  const query = words(typed.trim());
  const match = timeZones.find((zone) => words(zone) === query);
  if (match !== undefined) return match;
  const ofCity = timeZones.filter((zone) => cityOf(zone) === query);
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

/** Suggestions of zones by name, city and name of their time. */
export const timeZoneList = (): Html => lists('');

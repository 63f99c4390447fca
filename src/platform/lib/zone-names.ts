import { type Problem, problem } from '../problem.ts';
import { editDistance } from './edit-distance.ts';

/**
 * IANA time zones that PostgreSQL and Node interpret identically, by area. These are the names with an area in tzdata
 * 2024b. Names without an area are deliberately excluded, because PostgreSQL interprets many of them as abbreviations
 * with a fixed offset (`CET`, `EST`, `IST`), whereas Node interprets them as zones.
 */
const namesByArea: Readonly<Record<string, string>> = {
  Africa:
    'Abidjan Accra Addis_Ababa Algiers Asmara Asmera Bamako Bangui Banjul Bissau Blantyre Brazzaville Bujumbura ' +
    'Cairo Casablanca Ceuta Conakry Dakar Dar_es_Salaam Djibouti Douala El_Aaiun Freetown Gaborone Harare ' +
    'Johannesburg Juba Kampala Khartoum Kigali Kinshasa Lagos Libreville Lome Luanda Lubumbashi Lusaka Malabo ' +
    'Maputo Maseru Mbabane Mogadishu Monrovia Nairobi Ndjamena Niamey Nouakchott Ouagadougou Porto-Novo Sao_Tome ' +
    'Timbuktu Tripoli Tunis Windhoek',
  America:
    'Adak Anchorage Anguilla Antigua Araguaina Argentina/Buenos_Aires Argentina/Catamarca ' +
    'Argentina/ComodRivadavia Argentina/Cordoba Argentina/Jujuy Argentina/La_Rioja Argentina/Mendoza ' +
    'Argentina/Rio_Gallegos Argentina/Salta Argentina/San_Juan Argentina/San_Luis Argentina/Tucuman ' +
    'Argentina/Ushuaia Aruba Asuncion Atikokan Atka Bahia Bahia_Banderas Barbados Belem Belize Blanc-Sablon ' +
    'Boa_Vista Bogota Boise Buenos_Aires Cambridge_Bay Campo_Grande Cancun Caracas Catamarca Cayenne Cayman ' +
    'Chicago Chihuahua Ciudad_Juarez Coral_Harbour Cordoba Costa_Rica Creston Cuiaba Curacao Danmarkshavn Dawson ' +
    'Dawson_Creek Denver Detroit Dominica Edmonton Eirunepe El_Salvador Ensenada Fort_Nelson Fort_Wayne Fortaleza ' +
    'Glace_Bay Godthab Goose_Bay Grand_Turk Grenada Guadeloupe Guatemala Guayaquil Guyana Halifax Havana ' +
    'Hermosillo Indiana/Indianapolis Indiana/Knox Indiana/Marengo Indiana/Petersburg Indiana/Tell_City ' +
    'Indiana/Vevay Indiana/Vincennes Indiana/Winamac Indianapolis Inuvik Iqaluit Jamaica Jujuy Juneau ' +
    'Kentucky/Louisville Kentucky/Monticello Knox_IN Kralendijk La_Paz Lima Los_Angeles Louisville Lower_Princes ' +
    'Maceio Managua Manaus Marigot Martinique Matamoros Mazatlan Mendoza Menominee Merida Metlakatla Mexico_City ' +
    'Miquelon Moncton Monterrey Montevideo Montreal Montserrat Nassau New_York Nipigon Nome Noronha ' +
    'North_Dakota/Beulah North_Dakota/Center North_Dakota/New_Salem Nuuk Ojinaga Panama Pangnirtung Paramaribo ' +
    'Phoenix Port-au-Prince Port_of_Spain Porto_Acre Porto_Velho Puerto_Rico Punta_Arenas Rainy_River ' +
    'Rankin_Inlet Recife Regina Resolute Rio_Branco Rosario Santa_Isabel Santarem Santiago Santo_Domingo ' +
    'Sao_Paulo Scoresbysund Shiprock Sitka St_Barthelemy St_Johns St_Kitts St_Lucia St_Thomas St_Vincent ' +
    'Swift_Current Tegucigalpa Thule Thunder_Bay Tijuana Toronto Tortola Vancouver Virgin Whitehorse Winnipeg ' +
    'Yakutat Yellowknife',
  Antarctica: 'Casey Davis DumontDUrville Macquarie Mawson McMurdo Palmer Rothera South_Pole Syowa Troll Vostok',
  Arctic: 'Longyearbyen',
  Asia:
    'Aden Almaty Amman Anadyr Aqtau Aqtobe Ashgabat Ashkhabad Atyrau Baghdad Bahrain Baku Bangkok Barnaul Beirut ' +
    'Bishkek Brunei Calcutta Chita Choibalsan Chongqing Chungking Colombo Dacca Damascus Dhaka Dili Dubai ' +
    'Dushanbe Famagusta Gaza Harbin Hebron Ho_Chi_Minh Hong_Kong Hovd Irkutsk Istanbul Jakarta Jayapura Jerusalem ' +
    'Kabul Kamchatka Karachi Kashgar Kathmandu Katmandu Khandyga Kolkata Krasnoyarsk Kuala_Lumpur Kuching Kuwait ' +
    'Macao Macau Magadan Makassar Manila Muscat Nicosia Novokuznetsk Novosibirsk Omsk Oral Phnom_Penh Pontianak ' +
    'Pyongyang Qatar Qostanay Qyzylorda Rangoon Riyadh Saigon Sakhalin Samarkand Seoul Shanghai Singapore ' +
    'Srednekolymsk Taipei Tashkent Tbilisi Tehran Tel_Aviv Thimbu Thimphu Tokyo Tomsk Ujung_Pandang Ulaanbaatar ' +
    'Ulan_Bator Urumqi Ust-Nera Vientiane Vladivostok Yakutsk Yangon Yekaterinburg Yerevan',
  Atlantic: 'Azores Bermuda Canary Cape_Verde Faeroe Faroe Jan_Mayen Madeira Reykjavik South_Georgia St_Helena Stanley',
  Australia:
    'ACT Adelaide Brisbane Broken_Hill Canberra Currie Darwin Eucla Hobart LHI Lindeman Lord_Howe Melbourne NSW ' +
    'North Perth Queensland South Sydney Tasmania Victoria West Yancowinna',
  Brazil: 'Acre DeNoronha East West',
  Canada: 'Atlantic Central Eastern Mountain Newfoundland Pacific Saskatchewan Yukon',
  Chile: 'Continental EasterIsland',
  Etc:
    'GMT GMT+0 GMT+1 GMT+10 GMT+11 GMT+12 GMT+2 GMT+3 GMT+4 GMT+5 GMT+6 GMT+7 GMT+8 GMT+9 GMT-0 GMT-1 GMT-10 ' +
    'GMT-11 GMT-12 GMT-13 GMT-14 GMT-2 GMT-3 GMT-4 GMT-5 GMT-6 GMT-7 GMT-8 GMT-9 GMT0 Greenwich UCT UTC Universal ' +
    'Zulu',
  Europe:
    'Amsterdam Andorra Astrakhan Athens Belfast Belgrade Berlin Bratislava Brussels Bucharest Budapest Busingen ' +
    'Chisinau Copenhagen Dublin Gibraltar Guernsey Helsinki Isle_of_Man Istanbul Jersey Kaliningrad Kiev Kirov ' +
    'Kyiv Lisbon Ljubljana London Luxembourg Madrid Malta Mariehamn Minsk Monaco Moscow Nicosia Oslo Paris ' +
    'Podgorica Prague Riga Rome Samara San_Marino Sarajevo Saratov Simferopol Skopje Sofia Stockholm Tallinn ' +
    'Tirane Tiraspol Ulyanovsk Uzhgorod Vaduz Vatican Vienna Vilnius Volgograd Warsaw Zagreb Zaporozhye Zurich',
  Indian: 'Antananarivo Chagos Christmas Cocos Comoro Kerguelen Mahe Maldives Mauritius Mayotte Reunion',
  Mexico: 'BajaNorte BajaSur General',
  Pacific:
    'Apia Auckland Bougainville Chatham Chuuk Easter Efate Enderbury Fakaofo Fiji Funafuti Galapagos Gambier ' +
    'Guadalcanal Guam Honolulu Johnston Kanton Kiritimati Kosrae Kwajalein Majuro Marquesas Midway Nauru Niue ' +
    'Norfolk Noumea Pago_Pago Palau Pitcairn Pohnpei Ponape Port_Moresby Rarotonga Saipan Samoa Tahiti Tarawa ' +
    'Tongatapu Truk Wake Wallis Yap',
  US: 'Alaska Aleutian Arizona Central East-Indiana Eastern Hawaii Indiana-Starke Michigan Mountain Pacific Samoa',
};

/** All supported time zones, starting with `UTC`. */
export const zoneNames: readonly string[] = [
  'UTC',
  ...Object.entries(namesByArea).flatMap(([area, names]) => names.split(' ').map((name) => `${area}/${name}`)),
];

const byLowerCase: ReadonlyMap<string, string> = new Map(zoneNames.map((name) => [name.toLowerCase(), name]));

/** Whether a time zone is supported. Ignores case. */
export const isKnownZone = (name: string): boolean => byLowerCase.has(name.toLowerCase());

/**
 * Time zones by the abbreviation that people commonly use for them. Node interprets most of these abbreviations
 * differently.
 */
const abbreviations: Readonly<Record<string, string>> = {
  ACT: 'Australia/Adelaide America/Rio_Branco',
  AET: 'Australia/Sydney Australia/Brisbane',
  AEST: 'Australia/Sydney Australia/Brisbane',
  AST: 'America/Halifax Asia/Riyadh',
  BST: 'Europe/London Asia/Dhaka',
  CET: 'Europe/Berlin Europe/Paris Europe/Warsaw',
  CEST: 'Europe/Berlin Europe/Paris Europe/Warsaw',
  CST: 'America/Chicago Asia/Shanghai America/Havana',
  ECT: 'Europe/Paris America/Guayaquil',
  EET: 'Europe/Athens Europe/Helsinki Africa/Cairo',
  EST: 'America/New_York America/Panama',
  EDT: 'America/New_York',
  GMT: 'UTC Europe/London Africa/Abidjan',
  HST: 'Pacific/Honolulu',
  IST: 'Asia/Kolkata Europe/Dublin Asia/Jerusalem',
  JST: 'Asia/Tokyo',
  MET: 'Europe/Berlin Europe/Paris',
  MSK: 'Europe/Moscow',
  MST: 'America/Denver America/Phoenix',
  NST: 'America/St_Johns',
  PST: 'America/Los_Angeles Asia/Manila',
  PDT: 'America/Los_Angeles',
  SST: 'Pacific/Pago_Pago Pacific/Guadalcanal',
  WET: 'Europe/Lisbon Atlantic/Canary',
  Z: 'UTC',
};

/** Maximum number of suggestions in a response. */
const maxNames = 3;

/**
 * Returns the supported time zones that the text may refer to, most likely first. The list is empty if no zone
 * resembles the text.
 */
function nearestZones(text: string): string[] {
  const typed = text.trim().slice(0, 64);
  const byAbbreviation = Object.hasOwn(abbreviations, typed.toUpperCase())
    ? abbreviations[typed.toUpperCase()]
    : undefined;
  if (byAbbreviation !== undefined) return byAbbreviation.split(' ');
  const words = wordsOf(typed);
  const [, area = '', city = words] = /^(.*?)\/(.*)$/.exec(words) ?? [];
  const rated = zoneNames.flatMap((name) => {
    const ofName = wordsOf(name);
    const ofCity = ofName.slice(ofName.lastIndexOf('/') + 1);
    const distance = Math.min(editDistance(words, ofName), editDistance(city, ofCity));
    const isClose = distance <= Math.max(1, Math.floor(ofCity.length / 4));
    const isPart = city.length >= 4 && ofCity.includes(city);
    const isElsewhere = area !== '' && !ofName.startsWith(`${area}/`);
    return isClose || isPart ? [{ name, rate: Math.min(distance, isPart ? 1 : distance) + (isElsewhere ? 1 : 0) }] : [];
  });
  const nearest = rated.sort((a, b) => a.rate - b.rate).map(({ name }) => name);
  return [...new Set([...nearest, ...canonicalOf(typed)])].slice(0, maxNames);
}

const wordsOf = (name: string): string => name.toLowerCase().replaceAll(/[_\s]+/g, ' ');

/** Returns the canonical time zone that Node uses for a name without an area, such as `Japan`. */
function canonicalOf(name: string): string[] {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    return isKnownZone(timeZone) ? [timeZone] : [];
  } catch {
    return [];
  }
}

/** Returns comma-separated suggestions for an unsupported time zone, or null if the zone is supported. */
export function namesInstead(zone: string): string | null {
  if (isKnownZone(zone)) return null;
  return nearestZones(zone).join(', ') || 'Europe/Berlin';
}

/** Warns about a stored time zone that is no longer supported, with suggestions. */
export function warnOfZone(path: string, zone: string | undefined): { path: string; message: Problem }[] {
  const instead = zone === undefined ? null : namesInstead(zone);
  return instead === null ? [] : [{ path, message: problem('zoneAmbiguous', { zone: String(zone), names: instead }) }];
}

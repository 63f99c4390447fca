import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { Reader, type Response } from 'mmdb-lib';
import type { Logger } from './logger.ts';

/**
 * Geographic location of an IP address. All fields are null for unknown and private addresses, or if there is no geo
 * database.
 */
export type Place = {
  /** Country code, ISO 3166-1 alpha-2 in upper case. */
  country: string | null;
  /** Region code, ISO 3166-2 in upper case, such as US-CA. */
  region: string | null;
  /** City name in English. */
  city: string | null;
  postalCode: string | null;
  /** IANA time zone name. */
  timeZone: string | null;
};

/** Looks up the location of an IP address. The database is held in memory. */
export type Geo = (address: string) => Place;

export const nowhere: Place = { country: null, region: null, city: null, postalCode: null, timeZone: null };

/** Error for a geo database that cannot be used. It prevents the process from starting. */
export class GeoError extends Error {
  constructor(path: string, reason: string) {
    super(`The geo database ${path} cannot be used: ${reason}`);
    this.name = 'GeoError';
  }
}

/**
 * Maximum number of cached locations. A lookup takes 3 µs in the country database, and several times as long in a
 * database with cities.
 */
const maxKept = 10_000;

/**
 * Loads a MaxMind database: the GEOIP_DB file if one is configured, or else the bundled country database. If the file
 * is missing, a single message is logged, and every lookup returns an empty location.
 * @throws GeoError if the file exists but is not a MaxMind database
 */
export async function loadGeo(path: string | null, logger: Logger): Promise<Geo> {
  const file = path ?? bundledPath();
  const bytes = file === null ? null : await readIfThere(file);
  if (file === null || bytes === null) {
    logger.warn({ file: file ?? bundledPackage }, 'GeoIP database missing; countries are not detected');
    return () => nowhere;
  }
  const reader = openDatabase(file, bytes);
  const placeCache = new LRUCache<string, Place>({ max: maxKept });
  return (address) => {
    let place = placeCache.get(address);
    if (place === undefined) {
      place = findPlace(reader, address);
      if (address.length <= maxAddressLength) placeCache.set(address, place);
    }
    return place;
  };
}

const bundledPackage = '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb';

function bundledPath(): string | null {
  try {
    return createRequire(import.meta.url).resolve(bundledPackage);
  } catch {
    return null;
  }
}

async function readIfThere(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new GeoError(path, message);
  }
}

/** Size of the separator between the search tree and the data section, in bytes. */
const separatorBytes = 16;

function openDatabase(path: string, bytes: Buffer): Reader<Response> {
  let reader: Reader<Response>;
  try {
    reader = new Reader<Response>(bytes);
    for (const address of ['8.8.8.8', '2001:4860:4860::8888']) {
      if (reader.metadata.ipVersion === 6 || !address.includes(':')) reader.get(address);
    }
  } catch (err) {
    throw new GeoError(path, (err as Error).message);
  }
  const { databaseType, searchTreeSize } = reader.metadata;
  if (!(searchTreeSize + separatorBytes < bytes.length)) throw new GeoError(path, 'it is cut short');
  if (!/country|city|enterprise/i.test(databaseType))
    throw new GeoError(path, `it holds ${databaseType}, neither countries nor cities`);
  return reader;
}

/** Maximum length of an IPv6 address with an embedded IPv4 address, in characters. */
const maxAddressLength = 45;

function findPlace(reader: Reader<Response>, text: string): Place {
  const address = publicAddress(text);
  if (address === null || (address.includes(':') && reader.metadata.ipVersion === 4)) return nowhere;
  try {
    return toPlace(reader.get(address));
  } catch {
    return nowhere; // a damaged entry affects only its own addresses
  }
}

/** Normalises an IP address. Returns null for non-public addresses and for text that is not an address. */
function publicAddress(text: string): string | null {
  if (text.length > maxAddressLength) return null;
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.process(text);
  return address.range() === 'unicast' ? address.toString() : null;
}

type Names = { iso_code?: string; names?: { en?: string } };

/** Database record. The country database has only `country_code`, whereas records in MaxMind databases are nested. */
type GeoRecord = {
  country_code?: string;
  country?: Names;
  subdivisions?: Names[];
  city?: Names;
  postal?: { code?: string };
  location?: { time_zone?: string };
};

function toPlace(response: Response | null): Place {
  if (response === null) return nowhere;
  const entry = response as GeoRecord;
  const country = (entry.country_code ?? entry.country?.iso_code)?.toUpperCase();
  if (country === undefined || !/^[A-Z]{2}$/.test(country)) return nowhere;
  const region = entry.subdivisions?.[0]?.iso_code?.toUpperCase();
  return {
    country,
    region: region === undefined ? null : `${country}-${region}`,
    city: entry.city?.names?.en ?? null,
    postalCode: entry.postal?.code ?? null,
    timeZone: entry.location?.time_zone ?? null,
  };
}

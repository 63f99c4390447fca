import { minuteOfWeek } from '../platform/lib/time-zone.ts';

/** Request values from which the ranking learns, without identifiers. A value is null if unknown. */
export type LearningContext = {
  device: string | null;
  /** Operating system, from which the platform follows. */
  os: string | null;
  geo: { country: string | null; timeZone: string | null };
  loyalty: string;
  custom: ReadonlyMap<string, string>;
  nowMs: number;
};

/** Fields of a request's publisher that affect learning. */
export type LearningPublisher = { id: number; timeZone: string; learningExcludedKeys: ReadonlySet<string> };

/**
 * A request property. The keys of custom attributes contain the publisher id, so that other publishers never learn from
 * them.
 */
export type Property = { key: string; value: string };

const standard: readonly { key: string; of: (context: LearningContext, timeZone: string) => string | null }[] = [
  { key: 'device', of: ({ device }) => device },
  { key: 'os', of: ({ os }) => os },
  { key: 'country', of: ({ geo }) => geo.country },
  { key: 'loyalty', of: ({ loyalty }) => loyalty },
  { key: 'hour', of: ({ nowMs }, timeZone) => String(Math.floor((minuteOfWeek(timeZone, nowMs) % 1440) / 60)) },
  { key: 'weekday', of: ({ nowMs }, timeZone) => String(Math.floor(minuteOfWeek(timeZone, nowMs) / 1440)) },
];

const customPrefix = 'custom ';

export const isCustom = (key: string): boolean => key.startsWith(customPrefix);

/** Returns the prefix of a custom attribute's key, which is the same for all keys of its publisher. */
export const publisherPart = (key: string): string => key.slice(0, key.indexOf(' ', customPrefix.length));

/** Returns the key without its publisher, as used in requests. */
export const nameOfKey = (key: string): string => (isCustom(key) ? key.slice(publisherPart(key).length + 1) : key);

/** Compares keys by code unit. Keys are unique. */
const byKey = (a: Property, b: Property): number => (a.key < b.key ? -1 : 1);

/**
 * Returns the properties of a request in an order that is independent of the order of its attributes. Scores are summed
 * in this order, and must be reproducible bit for bit.
 * @param wanted keys to include, or null for all keys
 */
export function propertiesOf(
  context: LearningContext,
  publisher: LearningPublisher,
  includedKeys: ReadonlySet<string> | null = null,
): Property[] {
  const properties: Property[] = [];
  if (includedKeys?.size === 0) return properties;
  const timeZone = context.geo.timeZone ?? publisher.timeZone;
  for (const { key, of } of standard) {
    const value = includedKeys === null || includedKeys.has(key) ? of(context, timeZone) : null;
    if (value !== null) properties.push({ key, value });
  }
  const custom: Property[] = [];
  for (const [name, value] of context.custom) {
    const key = `${customPrefix}${publisher.id} ${name}`;
    if (includedKeys !== null && !includedKeys.has(key)) continue;
    if (!publisher.learningExcludedKeys.has(name)) custom.push({ key, value });
  }
  if (custom.length > 1) custom.sort(byKey);
  for (const property of custom) properties.push(property);
  return properties;
}

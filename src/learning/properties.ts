import { minuteOfWeek } from '../platform/lib/time-zone.ts';

/** Request values from which the ranking learns. None of them identifies a user. A value is null if unknown. */
export type LearningContext = {
  device: string | null;
  /** Operating system. The platform is derived from it. */
  os: string | null;
  geo: { country: string | null; timeZone: string | null };
  loyalty: string;
  custom: ReadonlyMap<string, string>;
  nowMs: number;
};

/** Fields of a request's publisher that affect learning. */
export type LearningPublisher = { id: number; timeZone: string; learningExcludedKeys: ReadonlySet<string> };

/**
 * Property of a request, used as a model feature. Keys of custom attributes include the publisher ID, so that the model
 * never applies one publisher's attributes to another publisher.
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

/** Returns the prefix of a custom attribute's key. It is the same for all keys of a publisher. */
export const publisherPart = (key: string): string => key.slice(0, key.indexOf(' ', customPrefix.length));

/** Returns a property key without its publisher prefix, as it appears in requests. */
export const nameOfKey = (key: string): string => (isCustom(key) ? key.slice(publisherPart(key).length + 1) : key);

/** Compares properties by the code units of their keys, which are unique. */
const byKey = (a: Property, b: Property): number => (a.key < b.key ? -1 : 1);

/**
 * Returns the properties of a request in an order that does not depend on the order of its attributes. Scores are
 * summed in this order, so that they are reproducible bit for bit.
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

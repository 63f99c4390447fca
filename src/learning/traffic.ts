import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { hourMs } from '../platform/lib/time.ts';
import { addFeature, findSlot, setPair, slotOf, type Table } from './model/table.ts';
import type { Model } from './model.ts';

/** An hour, counted from the epoch, and the number of requests to a publisher in that hour. */
export type HourCount = [hour: number, requests: number];

export const weekHours = 168;

export const hourOf = (atMs: number): number => Math.floor(atMs / hourMs);

const nameOf = (hour: number): string => `hour ${hour % weekHours}`;

/** Weight of the newest week in an estimate that covers several weeks, from 0 to 1. */
const newestPart = 0.3;

/** Maximum number of consecutive hours without requests that are added one by one: two weeks. */
const maxSilence = 2 * weekHours;

/**
 * Adds a publisher's hourly request counts to the traffic estimates. Counts must be added in chronological order. An
 * hour is added to the model once a later hour has begun, and skipped hours count as hours without requests.
 * @param running the current hour, which is not in the model yet; undefined if none exists
 * @returns the new current hour
 */
export function learnTraffic(
  { traffic }: Pick<Model, 'traffic'>,
  publisherId: number,
  running: HourCount | undefined,
  [hour, requests]: HourCount,
): HourCount {
  if (running === undefined) return [hour, requests];
  const [before, requestsBefore] = running;
  if (hour <= before) return [before, requestsBefore + (hour === before ? requests : 0)];
  noteHour(traffic, publisherId, before, requestsBefore);
  for (let silent = Math.max(before + 1, hour - maxSilence); silent < hour; silent++)
    noteHour(traffic, publisherId, silent, 0);
  return [hour, requests];
}

/**
 * Updates the estimate for an hour of the week. For each hour of the week and publisher, the table stores the estimate
 * and the number of weeks on which it is based.
 */
function noteHour(traffic: Table, publisherId: number, hour: number, requests: number): void {
  const slot = slotOf(traffic, addFeature(traffic, nameOf(hour)), publisherId);
  const [estimate, weeks] = [traffic.first[slot] as number, traffic.second[slot] as number];
  const part = Math.max(newestPart, 1 / (weeks + 1));
  setPair(traffic, slot, estimate + (requests - estimate) * part, weeks + 1);
}

/** Expected number of requests by hour of the week. The index is the hour since the epoch modulo 168. */
export type TrafficProfile = Float64Array;

const profiles = new WeakMap<Model, Map<string, TrafficProfile | null>>();

/**
 * Returns the expected number of requests to a set of publishers by hour of the week, or null if less than a day of
 * traffic is known.
 */
export const trafficOf = (model: Model, publisherIds: readonly number[]): TrafficProfile | null =>
  model.traffic.size === 0
    ? null
    : getOrInsert(
        getOrInsert(profiles, model, () => new Map<string, TrafficProfile | null>()),
        publisherIds.join(),
        () => profileOf(model.traffic, publisherIds),
      );

const dayHours = 24;

/** Minimum expected traffic in an hour, as a fraction of the average, so that pacing never stops completely. */
const leastPart = 0.01;

function profileOf(traffic: Table, publisherIds: readonly number[]): TrafficProfile | null {
  const requestsByHour = Array.from({ length: weekHours }, (_, hour) => knownAt(traffic, publisherIds, hour));
  const average = averageOf(requestsByHour);
  if (average === null || average === 0 || requestsByHour.filter((value) => value !== null).length < dayHours)
    return null;
  return Float64Array.from(requestsByHour, (value, hour) => {
    const likely =
      value ?? averageOf(requestsByHour.filter((_, other) => other % dayHours === hour % dayHours)) ?? average;
    return Math.max(likely, average * leastPart);
  });
}

/** Returns the expected number of requests in an hour of the week, or null if there is no data for this hour yet. */
function knownAt(traffic: Table, publisherIds: readonly number[], hour: number): number | null {
  const feature = traffic.indexOf.get(nameOf(hour));
  const slots = feature === undefined ? [] : publisherIds.map((id) => findSlot(traffic, feature, id));
  const existingSlots = slots.filter((slot) => slot !== -1);
  return existingSlots.length === 0
    ? null
    : existingSlots.reduce((sum, slot) => sum + (traffic.first[slot] as number), 0);
}

function averageOf(values: readonly (number | null)[]): number | null {
  const knownValues = values.filter((value) => value !== null);
  return knownValues.length === 0 ? null : knownValues.reduce((sum, value) => sum + value, 0) / knownValues.length;
}

import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { hourMs } from '../platform/lib/time.ts';
import { addFeature, findSlot, setPair, slotOf, type Table } from './model/table.ts';
import type { Model } from './model.ts';

/** Requests of a publisher in an hour (hours since the epoch). */
export type HourCount = [hour: number, requests: number];

export const weekHours = 168;

export const hourOf = (atMs: number): number => Math.floor(atMs / hourMs);

const nameOf = (hour: number): string => `hour ${hour % weekHours}`;

/** Part of an estimate that the newest week is, once there are several. */
const newestPart = 0.3;

/** Hours without any request that are noted one by one (count): two weeks. */
const maxSilence = 2 * weekHours;

/**
 * Takes in requests of a publisher in the order of their hours. An hour becomes part of the model when one after it has
 * begun; hours between them had no requests.
 * @param running the hour that has begun, which is not in the model; undefined: there is none
 * @returns the hour that is running now
 */
export function learnTraffic(
  { traffic }: Pick<Model, 'traffic'>,
  publisherId: number,
  running: HourCount | undefined,
  [hour, requests]: HourCount,
): HourCount {
  if (running === undefined) return [hour, requests];
  const [before, known] = running;
  if (hour <= before) return [before, known + (hour === before ? requests : 0)];
  noteHour(traffic, publisherId, before, known);
  for (let silent = Math.max(before + 1, hour - maxSilence); silent < hour; silent++)
    noteHour(traffic, publisherId, silent, 0);
  return [hour, requests];
}

/** Pairs by hour of the week and publisher: the estimate, and from how many weeks it is. */
function noteHour(traffic: Table, publisherId: number, hour: number, requests: number): void {
  const slot = slotOf(traffic, addFeature(traffic, nameOf(hour)), publisherId);
  const [estimate, weeks] = [traffic.first[slot] as number, traffic.second[slot] as number];
  const part = Math.max(newestPart, 1 / (weeks + 1));
  setPair(traffic, slot, estimate + (requests - estimate) * part, weeks + 1);
}

/** Expected requests by hour of the week (hours since the epoch, modulo the hours of a week). */
export type TrafficProfile = Float64Array;

const profiles = new WeakMap<Model, Map<string, TrafficProfile | null>>();

/** What hours of the week expect of requests to some publishers; null: less than a day is known. */
export const trafficOf = (model: Model, publisherIds: readonly number[]): TrafficProfile | null =>
  model.traffic.size === 0
    ? null
    : getOrInsert(
        getOrInsert(profiles, model, () => new Map<string, TrafficProfile | null>()),
        publisherIds.join(),
        () => profileOf(model.traffic, publisherIds),
      );

const dayHours = 24;

/** Hours without requests count this part of the average, so that a plan never stands still for good. */
const leastPart = 0.01;

function profileOf(traffic: Table, publisherIds: readonly number[]): TrafficProfile | null {
  const known = Array.from({ length: weekHours }, (_, hour) => knownAt(traffic, publisherIds, hour));
  const average = averageOf(known);
  if (average === null || average === 0 || known.filter((value) => value !== null).length < dayHours) return null;
  return Float64Array.from(known, (value, hour) => {
    const likely = value ?? averageOf(known.filter((_, other) => other % dayHours === hour % dayHours)) ?? average;
    return Math.max(likely, average * leastPart);
  });
}

/** null: the hour was not seen yet. */
function knownAt(traffic: Table, publisherIds: readonly number[], hour: number): number | null {
  const feature = traffic.indexOf.get(nameOf(hour));
  const slots = feature === undefined ? [] : publisherIds.map((id) => findSlot(traffic, feature, id));
  const found = slots.filter((slot) => slot !== -1);
  return found.length === 0 ? null : found.reduce((sum, slot) => sum + (traffic.first[slot] as number), 0);
}

function averageOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

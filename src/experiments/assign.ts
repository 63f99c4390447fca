import { hash, randomUUID } from 'node:crypto';
import {
  type Arm,
  type ArmChanges,
  admittedShare,
  type Experiment,
  experimentSlots,
  type Theme,
} from '../catalog/types.ts';
import type { ArmRules } from '../decision/types.ts';
import { type Fields, merge } from '../platform/lib/merge.ts';

/**
 * Arm to which an experiment assigns a request. A null arm means that the user is not part of the experiment. If the
 * experiment has no control arm, the users outside the experiment serve as its control.
 */
type Membership = { experiment: Experiment; arm: Arm | null };

/** Experiments as stored with a session: the ID, version, key and arm of each, and the user's unit key. */
export type StoredExperiments = {
  /**
   * Key of the unit to which this session's results are added: the keyed hash of `pub_user_id`, or of `ad_fp` if there
   * is no user ID. If absent, the session itself is the unit.
   */
  unit?: string;
  /** The same user's unit keys under earlier peppers, during a pepper rotation. */
  earlier?: readonly string[];
  arms: readonly [id: number, version: number, key: string, arm: string | null][];
};

/** Returns the experiment arms to report to publishers. Experiments in which the session has no arm are left out. */
export const announcedOf = (arms: StoredExperiments['arms']): { key: string; arm: string }[] =>
  arms.flatMap(([, , key, arm]) => (arm === null ? [] : { key, arm }));

/** Maximum length of a custom attribute's name, in characters. */
const maxNameLength = 64;

/**
 * Adds the experiment arms to a request's custom attributes, so that they can be used in reports, exports and
 * conditions.
 */
export const withArms = (custom: ReadonlyMap<string, string>, { announced }: Assigned): ReadonlyMap<string, string> =>
  announced.length === 0
    ? custom
    : new Map([
        ...custom,
        ...announced
          .map(({ key, arm }) => [`experiment.${key}`, arm] as const)
          .filter(([name]) => name.length <= maxNameLength),
      ]);

/** Effects of the assigned experiments on a response. */
export type Assigned = {
  /** Arms to report in responses and webhooks. */
  announced: readonly { key: string; arm: string }[];
  stored: StoredExperiments;
  theme: Theme | null;
  labels: Readonly<Record<string, string>> | null;
  /** Number of offers in the response, or null if no experiment changes it. */
  count: number | null;
  /** Decision rules changed by experiments, or null if no experiment changes them. */
  rules: ArmRules | null;
  /** Whether the user is in a hold-out group and therefore sees no offers. */
  isHeldOut: boolean;
};

/** User to be assigned to experiment arms, with the request time. */
export type Subject = {
  /**
   * Text that is hashed to assign the user to an arm. It is the user identifier exactly as the publisher sends it, so
   * that the result is the same on every device and with every pepper. Without an identifier, it is derived from the
   * session. Not used for anything else.
   */
  subject: string;
  /**
   * Keys of the unit to which the session's results are added, current key first. Empty if the session itself is the
   * unit.
   */
  unitKeys: readonly string[];
  nowMs: number;
};

/**
 * Returns the user who made a request, as a subject for experiments.
 * @param keysOf returns the keyed hashes of an identifier, current hash first
 */
export function subjectOf(
  { pubUserId, adFp }: { pubUserId: string | null; adFp: string | null },
  keysOf: (identifier: string) => readonly string[],
  nowMs: number,
): Subject {
  const identifier = pubUserId ?? adFp;
  return { subject: identifier ?? randomUUID(), unitKeys: identifier === null ? [] : keysOf(identifier), nowMs };
}

type AssignmentRequest = Subject & {
  publisher: { themes: ReadonlyMap<number, Theme> };
  /** Theme before experiments change it. */
  theme: Theme | null;
  placement: string;
  /** Arms that the caller selected for testing, keyed by experiment, or null if none were selected. */
  testArms: ReadonlyMap<string, string> | null;
};

/** Returns a user's slot: the first 48 bits of SHA-256 of salt, NUL and identifier, modulo the number of slots. */
export const slotOf = (salt: string, subject: string): number =>
  Number.parseInt(hash('sha256', `${salt}\0${subject}`, 'hex').slice(0, 12), 16) % experimentSlots;

/**
 * Returns the admitted share of traffic, from 0 to 1, at which a user joins an experiment that is ramping up. It is
 * computed from the next 48 bits of the same hash, so that all arms grow at the same rate.
 */
const turnOf = (salt: string, subject: string): number =>
  Number.parseInt(hash('sha256', `${salt}\0${subject}`, 'hex').slice(12, 24), 16) / 2 ** 48;

/** Returns a user's arm, or null if the user is outside the experiment. */
function armOf({ salt, allocation, arms }: Experiment, subject: string): Arm | null {
  const slot = slotOf(salt, subject);
  const slots = allocation.find(({ from, to }) => slot >= from && slot < to);
  return (slots && arms.get(slots.arm)) ?? null;
}

/**
 * Returns the experiments that apply to a request and their effects, or null if none apply
 * (docs/reference/experiments-and-outcomes.md).
 */
export function assign(experiments: readonly Experiment[], request: AssignmentRequest): Assigned | null {
  const memberships: Membership[] = [];
  for (const experiment of experiments) {
    const { key, salt, startMs, endMs, placements, arms, control, ramp } = experiment;
    if (placements !== null && !placements.has(request.placement)) continue;
    const testArm = arms.get(request.testArms?.get(key) ?? '');
    if (testArm !== undefined) memberships.push({ experiment, arm: testArm });
    else if (request.nowMs >= startMs && request.nowMs < endMs) {
      if (ramp !== null && turnOf(salt, request.subject) >= admittedShare(ramp, request.nowMs)) continue;
      const arm = armOf(experiment, request.subject);
      if (arm !== null || control === null) memberships.push({ experiment, arm });
    }
  }
  return memberships.length === 0 ? null : assignedOf(memberships, request);
}

function assignedOf(memberships: readonly Membership[], { publisher, theme, unitKeys }: AssignmentRequest): Assigned {
  const changed = memberships.filter(({ arm }) => arm !== null && Object.keys(arm.changes).length > 0);
  const changes: ArmChanges = Object.assign({}, ...changed.map(({ arm }) => arm?.changes));
  const heldOut = memberships.filter(({ arm }) => arm?.isHoldout === true);
  const [unit, ...earlier] = unitKeys;
  const withheld = heldOut.flatMap(({ experiment }) => experiment.campaignId ?? []);
  const rules: ArmRules = {
    ...(changes.ranking === undefined ? {} : { ranking: changes.ranking }),
    ...(changes.floor === undefined ? {} : { floorMicros: changes.floor * 1000 }),
    ...(withheld.length === 0 ? {} : { withheld }),
  };
  const arms = memberships.map(({ experiment: { id, version, key }, arm }): StoredExperiments['arms'][number] => [
    id,
    version,
    key,
    arm?.key ?? null,
  ]);
  return {
    announced: announcedOf(arms),
    stored: {
      ...(unit === undefined ? {} : { unit }),
      ...(earlier.length === 0 ? {} : { earlier }),
      arms,
    },
    theme: themeOf(publisher.themes.get(changes.theme_id ?? 0) ?? theme, changed),
    labels: mergedOf(changed, 'labels') as Assigned['labels'],
    count: changes.offers_per_response ?? null,
    rules: Object.keys(rules).length === 0 ? null : rules,
    isHeldOut: heldOut.some(({ experiment }) => experiment.campaignId === null),
  };
}

const mergedOf = (memberships: readonly Membership[], name: 'settings' | 'labels'): Fields | null => {
  const changes = memberships
    .map(({ arm }): Fields | undefined => arm?.changes[name])
    .filter((fields) => fields !== undefined);
  return changes.length === 0 ? null : changes.reduce(merge, {});
};

/**
 * Cache of themes with the arms' changes applied. Entries become obsolete with each new snapshot, which has new theme
 * objects.
 */
const variants = new WeakMap<Theme, Map<string, Theme>>();
/** Maximum number of cached variants per theme. When it is reached, the theme's variants are removed from the cache. */
const maxVariants = 500;

function themeOf(theme: Theme | null, memberships: readonly Membership[]): Theme | null {
  const settings = mergedOf(memberships, 'settings');
  if (theme === null || settings === null) return theme;
  let themeVariants = variants.get(theme);
  if (themeVariants === undefined || themeVariants.size >= maxVariants) {
    themeVariants = new Map();
    variants.set(theme, themeVariants);
  }
  const key = memberships.map(({ experiment: { id, version }, arm }) => `${id} ${version} ${arm?.key}`).join(' ');
  let variant = themeVariants.get(key);
  if (variant === undefined) {
    variant = { ...theme, settings: merge(theme.settings, settings) };
    themeVariants.set(key, variant);
  }
  return variant;
}

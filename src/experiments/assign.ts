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
 * Arm of a request in an experiment; null: outside of the experiment, which is its control if there is no control arm.
 */
type Membership = { experiment: Experiment; arm: Arm | null };

/** Experiments stored with a session: id, version, key and arm of each, and the user's unit. */
export type StoredExperiments = {
  /**
   * Key whose sums the session counts for: the keyed hash of `pub_user_id`, or of `ad_fp`. Absent: the session itself.
   */
  unit?: string;
  /** Keys of the unit under earlier peppers, during a rotation. */
  earlier?: readonly string[];
  arms: readonly [id: number, version: number, key: string, arm: string | null][];
};

/** Arms that publishers see, without experiments that the session was outside of. */
export const announcedOf = (arms: StoredExperiments['arms']): { key: string; arm: string }[] =>
  arms.flatMap(([, , key, arm]) => (arm === null ? [] : { key, arm }));

/** Maximum length of the name of a custom attribute. */
const maxNameLength = 64;

/** Adds the arms to the custom attributes of a request, so that reports, exports and conditions can use them. */
export const withArms = (custom: ReadonlyMap<string, string>, { announced }: Assigned): ReadonlyMap<string, string> =>
  announced.length === 0
    ? custom
    : new Map([
        ...custom,
        ...announced
          .map(({ key, arm }) => [`experiment.${key}`, arm] as const)
          .filter(([name]) => name.length <= maxNameLength),
      ]);

/** Effects of experiments on a response. */
export type Assigned = {
  /** Arms in responses and webhooks. */
  announced: readonly { key: string; arm: string }[];
  stored: StoredExperiments;
  theme: Theme | null;
  labels: Readonly<Record<string, string>> | null;
  /** Number of offers in a response, or null without a change. */
  count: number | null;
  /** Other rules for the decision, or null. */
  rules: ArmRules | null;
  /** Whether nothing is shown. */
  isHeldOut: boolean;
};

/** The user of a request, at a time. */
export type Subject = {
  /**
   * Text to hash, used for no other purpose: the user identifier as the publisher sends it. It is the same on every
   * device and with every pepper. Without an identifier, it is a text of the session.
   */
  subject: string;
  /** Keys whose sums the session counts for, the current one first; empty for the session itself. */
  unitKeys: readonly string[];
  nowMs: number;
};

/** @param keysOf returns keyed hashes of an identifier, the current one first */
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
  /** Theme without experiments. */
  theme: Theme | null;
  placement: string;
  /** Arms selected for a test, by experiment, or null. */
  named: ReadonlyMap<string, string> | null;
};

/** Slot of a user: the first 48 bits of SHA-256 of salt, NUL and identifier, modulo the number of slots. */
export const slotOf = (salt: string, subject: string): number =>
  Number.parseInt(hash('sha256', `${salt}\0${subject}`, 'hex').slice(0, 12), 16) % experimentSlots;

/**
 * Share, from 0 to 1, above which a user joins an experiment that ramps up. It uses the next 48 bits of the same hash,
 * so that all arms grow at the same rate.
 */
const turnOf = (salt: string, subject: string): number =>
  Number.parseInt(hash('sha256', `${salt}\0${subject}`, 'hex').slice(12, 24), 16) / 2 ** 48;

/** Arm of a user, or null outside of the experiment. */
function armOf({ salt, allocation, arms }: Experiment, subject: string): Arm | null {
  const slot = slotOf(salt, subject);
  const slots = allocation.find(({ from, to }) => slot >= from && slot < to);
  return (slots && arms.get(slots.arm)) ?? null;
}

/** Returns the experiments of a request and their effects, or null (docs/reference/experiments-and-outcomes.md). */
export function assign(experiments: readonly Experiment[], request: AssignmentRequest): Assigned | null {
  const memberships: Membership[] = [];
  for (const experiment of experiments) {
    const { key, salt, startMs, endMs, placements, arms, control, ramp } = experiment;
    if (placements !== null && !placements.has(request.placement)) continue;
    const testArm = arms.get(request.named?.get(key) ?? '');
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

/** Themes with the changes of arms. A new snapshot has new themes. */
const variants = new WeakMap<Theme, Map<string, Theme>>();
/** Maximum number of variants of a theme; the oldest are dropped and built again. */
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

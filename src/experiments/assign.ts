import { hash, randomUUID } from 'node:crypto';
import { type Arm, type ArmChanges, admittedShare, type Experiment, experimentSlots } from '../catalog/experiments.ts';
import type { Theme } from '../catalog/types.ts';
import type { ArmRules } from '../decision/types.ts';
import { type Fields, merge } from '../platform/lib/merge.ts';

/** The arm of an experiment that a request falls to; null: outside, where those outside are its control. */
type Membership = { experiment: Experiment; arm: Arm | null };

/** What the session of a request stores of its experiments: id, version, key and arm of each, and the user's unit. */
export type StoredExperiments = {
  /** Whose sums the session counts for: the keyed hash of `pub_user_id`, else of `ad_fp`; absent: the session's. */
  unit?: string;
  /** Its keys under earlier peppers, while they are rotated. */
  earlier?: readonly string[];
  arms: readonly [id: number, version: number, key: string, arm: string | null][];
};

/** What of it publishers are told: nothing of experiments that the session was outside of. */
export const announcedOf = (arms: StoredExperiments['arms']): { key: string; arm: string }[] =>
  arms.flatMap(([, , key, arm]) => (arm === null ? [] : { key, arm }));

/** Longest name of a custom attribute. */
const maxNameLength = 64;

/** The arms as custom attributes beside those of the request: so reports, exports and conditions know them. */
export const withArms = (custom: ReadonlyMap<string, string>, { announced }: Assigned): ReadonlyMap<string, string> =>
  announced.length === 0
    ? custom
    : new Map([
        ...custom,
        ...announced
          .map(({ key, arm }) => [`experiment.${key}`, arm] as const)
          .filter(([name]) => name.length <= maxNameLength),
      ]);

/** What the experiments of a request change in its answer. */
export type Assigned = {
  /** As answers and webhooks have it. */
  announced: readonly { key: string; arm: string }[];
  stored: StoredExperiments;
  theme: Theme | null;
  labels: Readonly<Record<string, string>> | null;
  /** Offers of an answer; null: as without experiments. */
  count: number | null;
  /** What decisions see of it beside that; null: nothing. */
  rules: ArmRules | null;
  /** Nothing is shown. */
  isHeldOut: boolean;
};

/** The user of a request, at a moment. */
export type Subject = {
  /**
   * What is hashed: the identifier of the user as the publisher sends it, and for no other purpose. It is the same on
   * every device and under every pepper; where there is none, a text of the session.
   */
  subject: string;
  /** The keys of whose sums the session counts for, the present one first; none: its own. */
  unitKeys: readonly string[];
  nowMs: number;
};

/** @param keysOf keyed hashes of an identifier, the present one first */
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
  /** As it would be without experiments. */
  theme: Theme | null;
  placement: string;
  /** Arms that a test names, by experiment; null: none. */
  named: ReadonlyMap<string, string> | null;
};

/** The slot of a user: the first 48 bits of SHA-256 of salt, NUL and identifier, modulo the number of slots. */
export const slotOf = (salt: string, subject: string): number =>
  Number.parseInt(hash('sha256', `${salt}\0${subject}`, 'hex').slice(0, 12), 16) % experimentSlots;

/**
 * When a user comes into an experiment that grows: from the share on that is above this, 0 to 1. The next 48 bits of
 * the same hash, so that all arms grow alike.
 */
const turnOf = (salt: string, subject: string): number =>
  Number.parseInt(hash('sha256', `${salt}\0${subject}`, 'hex').slice(12, 24), 16) / 2 ** 48;

/** The arm of a user; null: outside. */
function armOf({ salt, allocation, arms }: Experiment, subject: string): Arm | null {
  const slot = slotOf(salt, subject);
  const slots = allocation.find(({ from, to }) => slot >= from && slot < to);
  return (slots && arms.get(slots.arm)) ?? null;
}

/**
 * Which experiments apply to a request, and what they change. null: none (docs/reference/experiments-and-outcomes.md).
 */
export function assign(experiments: readonly Experiment[], request: AssignmentRequest): Assigned | null {
  const memberships: Membership[] = [];
  for (const experiment of experiments) {
    const { key, salt, startMs, endMs, placements, arms, control, ramp } = experiment;
    if (placements !== null && !placements.has(request.placement)) continue;
    const named = arms.get(request.named?.get(key) ?? '');
    if (named !== undefined) memberships.push({ experiment, arm: named });
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
  const found = memberships
    .map(({ arm }): Fields | undefined => arm?.changes[name])
    .filter((fields) => fields !== undefined);
  return found.length === 0 ? null : found.reduce(merge, {});
};

/** Themes as arms change them. A new snapshot has new themes. */
const variants = new WeakMap<Theme, Map<string, Theme>>();
/** Of one theme (count); they are made again. */
const maxVariants = 500;

function themeOf(theme: Theme | null, memberships: readonly Membership[]): Theme | null {
  const settings = mergedOf(memberships, 'settings');
  if (theme === null || settings === null) return theme;
  let known = variants.get(theme);
  if (known === undefined || known.size >= maxVariants) {
    known = new Map();
    variants.set(theme, known);
  }
  const key = memberships.map(({ experiment: { id, version }, arm }) => `${id} ${version} ${arm?.key}`).join(' ');
  let variant = known.get(key);
  if (variant === undefined) {
    variant = { ...theme, settings: merge(theme.settings, settings) };
    known.set(key, variant);
  }
  return variant;
}

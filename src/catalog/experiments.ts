/** Changes of the unit in an arm (docs/reference/experiments-and-outcomes.md). */
export type ArmChanges = {
  offers_per_response?: number;
  theme_id?: number;
  settings?: Readonly<Record<string, unknown>>;
  labels?: Readonly<Record<string, string>>;
  ranking?: 'learned' | 'fixed';
  /** Minimum revenue for 1,000 impressions. */
  floor?: number;
};

export type Arm = { key: string; isHoldout: boolean; changes: ArmChanges };

export type Experiment = {
  id: number;
  key: string;
  /** Grows with each change of the allocation of users and of the arms' changes. */
  version: number;
  salt: string;
  /** Normalised names of placements; null for all placements. */
  placements: ReadonlySet<string> | null;
  /** Campaign that is hidden from the hold-out; null hides all offers from it. */
  campaignId: number | null;
  /** Period in which the experiment runs (epoch milliseconds, end exclusive). Drafts never run. */
  startMs: number;
  endMs: number;
  arms: ReadonlyMap<string, Arm>;
  /** Ranges of slots and their arms. Users in other slots are not in the experiment. */
  allocation: readonly Slots[];
  /** Arm that changes nothing; null if users outside the experiment are the control. */
  control: string | null;
  /** Share of its users who take part, from each moment on; null for all users. */
  ramp: readonly { fromMs: number; share: number }[] | null;
};

/** Slots of an arm, from `from` (inclusive) to `to` (exclusive). */
export type Slots = { from: number; to: number; arm: string };

/** Number of slots that users are spread over. */
export const experimentSlots = 10_000;

/** Name of the hold-out arm. */
export const holdoutArm = 'holdout';

/** Returns the control: the arm named `control`, else the first arm without changes, or null. */
export function controlOf(arms: readonly { key: string; changes: object }[]): string | null {
  const plain = arms.filter(({ changes }) => Object.keys(changes).length === 0);
  return (plain.find(({ key }) => key === 'control') ?? plain[0])?.key ?? null;
}

/** Share of an experiment's users who take part at a moment. `ramp` null means all. */
export const admittedShare = (ramp: Experiment['ramp'], nowMs: number): number =>
  ramp === null ? 1 : (ramp.findLast(({ fromMs }) => nowMs >= fromMs)?.share ?? 0);

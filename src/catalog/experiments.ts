/** What an arm changes of the unit (docs/reference/experiments-and-outcomes.md). */
export type ArmChanges = {
  offers_per_response?: number;
  theme_id?: number;
  settings?: Readonly<Record<string, unknown>>;
  labels?: Readonly<Record<string, string>>;
  ranking?: 'learned' | 'fixed';
  /** Money for 1,000 impressions. */
  floor?: number;
};

export type Arm = { key: string; isHoldout: boolean; changes: ArmChanges };

export type Experiment = {
  id: number;
  key: string;
  /** Grows with each change of who is in which arm, and of what an arm does. */
  version: number;
  salt: string;
  /** Normalised names; null: all placements. */
  placements: ReadonlySet<string> | null;
  /** The hold-out gets everything but this campaign; null: nothing at all. */
  campaignId: number | null;
  /** When it runs (epoch milliseconds); the end is exclusive. A draft never does. */
  startMs: number;
  endMs: number;
  arms: ReadonlyMap<string, Arm>;
  /** Users by slot, of `experimentSlots`: from, before, arm. All others are outside. */
  allocation: readonly Slots[];
  /** The arm that changes nothing; null: those outside are compared with. */
  control: string | null;
  /** Part of its users who are in it, from each moment on; null: all. */
  ramp: readonly { fromMs: number; share: number }[] | null;
};

/** Slots of an arm: `from` to before `to`. */
export type Slots = { from: number; to: number; arm: string };

/** Users are spread over this many slots. */
export const experimentSlots = 10_000;

/** Name of the arm that is held out. */
export const holdoutArm = 'holdout';

/** The arm that changes nothing: the one named `control`, else the first; null: none does. */
export function controlOf(arms: readonly { key: string; changes: object }[]): string | null {
  const plain = arms.filter(({ changes }) => Object.keys(changes).length === 0);
  return (plain.find(({ key }) => key === 'control') ?? plain[0])?.key ?? null;
}

/** The share of its users who are in an experiment, at a moment. `ramp` null: all. */
export const admittedShare = (ramp: Experiment['ramp'], nowMs: number): number =>
  ramp === null ? 1 : (ramp.findLast(({ fromMs }) => nowMs >= fromMs)?.share ?? 0);

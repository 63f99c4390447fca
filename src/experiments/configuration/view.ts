import type { Slots } from '../../catalog/types.ts';
import type { WrittenRow } from '../../catalog-admin/unit-changes.ts';
import type { ArmInput } from './changes.ts';
import type { HistoryEntry } from './history.ts';
import type { RampStep } from './ramp.ts';

/** Fields of an experiment that API clients can write. */
export type ExperimentValues = {
  key: string;
  name: string;
  placements: string[] | null;
  campaign_id: number | null;
  layer: string | null;
  holdout: number;
  arms: ArmInput[];
  start_at: string | null;
  end_at: string | null;
  ramp: RampStep[] | null;
  smallest_lift: number;
};

export const states = ['draft', 'scheduled', 'running', 'stopped', 'ended'] as const;
type ExperimentState = (typeof states)[number];

/** An experiment in API responses. */
export type ExperimentView = ExperimentValues & {
  state: ExperimentState;
  version: number;
  versions: Version[];
  allocation: Slots[];
  started_at: string | null;
  stopped_at: string | null;
  adopted: Adopted | null;
  history: HistoryEntry[];
};

/** The adopted arm, and the rows that were changed by the adoption. */
type Adopted = { arm: string; at: string; by: string; written: WrittenRow[] };

type Version = { version: number; at: string; holdout: number; arms: ArmInput[] };

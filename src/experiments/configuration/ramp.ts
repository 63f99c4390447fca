import { type Static, Type } from '@sinclair/typebox';
import { admittedShare } from '../../catalog/types.ts';
import { orNull } from '../../management/resource.ts';
import { AppError } from '../../platform/errors.ts';
import { hourMs } from '../../platform/lib/time.ts';
import { problem } from '../../platform/problem.ts';
import { percentOf, share } from './changes.ts';

const step = Type.Object(
  {
    after_hours: Type.Number({ minimum: 0, maximum: 8760, description: 'Time after the start, in hours.' }),
    share: { ...share, description: 'Share of the users of each arm who take part from this step on, from 0 to 1.' },
  },
  { title: 'ExperimentRampStep', additionalProperties: false },
);

export type RampStep = Static<typeof step>;

export const rampSchema = orNull(Type.Array(step, { minItems: 1, maxItems: 20 }), {
  default: null,
  description: 'Steps in which the experiment grows. Users stay in their arm. `null` to start with all users.',
});

type Running = { state: string; start_at: string | null; started_at: string | null; ramp: RampStep[] | null };

/**
 * Checks that a new ramp does not remove users from a running experiment.
 * @throws AppError conflict if users would leave the experiment
 */
export function requireNoneLeave(current: Running, ramp: RampStep[] | null, nowMs: number): void {
  const startMs = Date.parse(current.started_at ?? current.start_at ?? '');
  if (current.state !== 'running' || Number.isNaN(startMs)) return;
  const admitted = (steps: RampStep[] | null): number => admittedShare(toRamp(steps, startMs), nowMs);
  if (admitted(ramp) < admitted(current.ramp))
    throw new AppError('conflict', {
      message: problem('usersWouldLeave'),
      details: [{ path: '/ramp', message: problem('rampBelow', { percent: percentOf(admitted(current.ramp)) }) }],
    });
}

const toRamp = (steps: RampStep[] | null, startMs: number) =>
  steps?.map(({ after_hours: hours, share }) => ({ fromMs: startMs + hours * hourMs, share })) ?? null;

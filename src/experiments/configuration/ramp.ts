import { type Static, Type } from '@sinclair/typebox';
import { admittedShare } from '../../catalog/types.ts';
import { orNull } from '../../management/resource.ts';
import { AppError } from '../../platform/errors.ts';
import { hourMs } from '../../platform/lib/time.ts';
import { percentOf, share } from './changes.ts';

const step = Type.Object(
  {
    after_hours: Type.Number({ minimum: 0, maximum: 8760, description: 'Since the start.' }),
    share: { ...share, description: 'Of those who fall to an arm, how many are in the experiment from then on.' },
  },
  { title: 'ExperimentRampStep', additionalProperties: false },
);

export type RampStep = Static<typeof step>;

export const rampSchema = orNull(Type.Array(step, { minItems: 1, maxItems: 20 }), {
  default: null,
  description: 'It grows by these steps. Who is in it stays in the same arm. null: all at once.',
});

type Running = { state: string; start_at: string | null; started_at: string | null; ramp: RampStep[] | null };

/** @throws AppError conflict: users in the experiment would leave it */
export function requireNoneLeave(current: Running, ramp: RampStep[] | null, nowMs: number): void {
  const startMs = Date.parse(current.started_at ?? current.start_at ?? '');
  if (current.state !== 'running' || Number.isNaN(startMs)) return;
  const admitted = (steps: RampStep[] | null): number => admittedShare(toRamp(steps, startMs), nowMs);
  if (admitted(ramp) < admitted(current.ramp))
    throw new AppError('conflict', {
      message: 'Users who are in the experiment would leave it.',
      details: [
        { path: '/ramp', message: `must not be below the share of now, ${percentOf(admitted(current.ramp))} %` },
      ],
    });
}

const toRamp = (steps: RampStep[] | null, startMs: number) =>
  steps?.map(({ after_hours: hours, share }) => ({ fromMs: startMs + hours * hourMs, share })) ?? null;

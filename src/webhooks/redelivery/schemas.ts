import { Type } from '@sinclair/typebox';
import { orNull } from '../endpoints/schemas.ts';
import type { RedeliveryJob } from './jobs.ts';

const jobView = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    status: Type.Union([Type.Literal('running'), Type.Literal('done'), Type.Literal('cancelled')]),
    total: Type.Integer({
      description: 'Number of matching deliveries when the job was created, counted up to 1,000,000.',
    }),
    queued: Type.Integer({ description: 'Number of deliveries that were queued so far.' }),
    created_at: Type.String({ format: 'date-time' }),
    finished_at: orNull(Type.String({ format: 'date-time' })),
  },
  { title: 'Redelivery' },
);

export const jobParams = Type.Object({ id: Type.String() });
export const jobAnswer = Type.Object({ message: Type.String(), data: jobView }, { title: 'RedeliveryAnswer' });
export const jobListAnswer = Type.Object({ message: Type.String(), data: Type.Array(jobView) });

export const countAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    dry_run: Type.Literal(true),
    count: Type.Integer({ description: 'Number of deliveries that would be sent again, counted up to 1,000,000.' }),
    capped: Type.Boolean({ description: 'Whether more than 1,000,000 deliveries match.' }),
  }),
});

export const redeliveredAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({ id: Type.String(), webhook_id: Type.String(), status: Type.Literal('pending') }),
});

/** Returns a redelivery job in API format. */
export const viewOfJob = ({ id, status, total, queued, createdAt, finishedAt }: RedeliveryJob) => ({
  id,
  status,
  total,
  queued,
  created_at: createdAt.toISOString(),
  finished_at: finishedAt?.toISOString() ?? null,
});

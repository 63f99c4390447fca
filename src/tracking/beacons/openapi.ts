import { Type } from '@sinclair/typebox';
import { eventKinds, kindsWith } from '../../catalog/event-kinds.ts';
import type { ApiPaths } from '../../platform/http/schemas.ts';
import { errorSchema } from '../../platform/http/schemas.ts';

/** An image answer in the API reference. */
export const imageAnswer = (description: string) => ({
  description,
  content: { 'image/png': { schema: Type.String({ format: 'binary' }) } },
});

export const badTokenAnswer = imageAnswer(
  'The token is bad, expired or foreign: the same image, and nothing is recorded.',
);

export const tokenParameter = Type.String({ description: 'Signed token of the offer in its session.' });

const errorAnswer = {
  description: errorSchema.description as string,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
};

const responses = {
  200: imageAnswer('Recorded, now or earlier.'),
  400: badTokenAnswer,
  ...Object.fromEntries([405, 429, 500, 503].map((status) => [status, errorAnswer])),
};

const parameters = [
  { name: 't', in: 'query', schema: { type: 'string' }, description: tokenParameter.description as string },
  { name: 'cbuster', in: 'query', schema: { type: 'string' }, description: 'Anything; keeps caches away.' },
] as const;

/** The beacons in the API reference: the framework does not serve them, so it cannot describe them. */
export const beaconPaths = (): ApiPaths =>
  Object.fromEntries(
    kindsWith('beacon').map((kind) => {
      const { path, operationId, summary } = eventKinds[kind].beacon;
      const about = { operationId, summary, tags: ['Tracking'], security: [] };
      return [path, { get: { ...about, parameters: [...parameters], responses } }];
    }),
  );

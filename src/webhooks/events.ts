import type { TSchema } from '@sinclair/typebox';
import type { Publisher } from '../catalog/types.ts';

import { AppError } from '../platform/errors.ts';
import { problem } from '../platform/problem.ts';

/** Input of a sample payload. `nowMs`: epoch milliseconds. */
export type SampleContext = { publisher: Publisher; publicUrl: string; nowMs: number };

/** Version of the payload schemas. A version may get new fields; existing fields are never removed or changed. */
export const schemaVersion = 1;

/** An event that publishers can subscribe to. The module that raises it exports its type. */
export type EventType = {
  /** Identifier in `webhook_endpoints.event`, `perkwire-event` and URLs, such as `usp.selection`. */
  name: string;
  /** Short title, and one sentence for users. */
  title: string;
  description: string;
  /** Whether the event is about the service itself, not about a user's activity. */
  isOperational?: true;
  /** Whether listeners receive it only if they name it. */
  isNamedOnly?: true;
  /** JSON schema of the payload. */
  payload: TSchema;
  /**
   * Builds the payload of Test Endpoint: invented data, built by the code of real payloads, so that no field is
   * missing. Its links contain no valid token.
   */
  sample: (context: SampleContext) => Buffer;
};

/** Registered event types by name, in the order of registration. */
export type EventTypes = ReadonlyMap<string, EventType>;

export const registerEventTypes = (types: readonly EventType[]): EventTypes =>
  new Map(types.map((type) => [type.name, type]));

/** @throws AppError `endpoint_not_found` */
export function requireEventType(events: EventTypes, name: string): EventType {
  const type = events.get(name);
  if (type === undefined)
    throw new AppError('endpoint_not_found', {
      message: problem('noEvent', { events: [...events.keys()].join(', ') }),
    });
  return type;
}

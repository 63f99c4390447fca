import type { TSchema } from '@sinclair/typebox';
import type { Publisher } from '../catalog/types.ts';

import { AppError } from '../platform/errors.ts';
import { problem } from '../platform/problem.ts';

/** Input for building a sample payload. `nowMs` is the current time in epoch milliseconds. */
export type SampleContext = { publisher: Publisher; publicUrl: string; nowMs: number };

/**
 * Version of the payload schemas. Within a version, fields may be added, but existing fields are never removed or
 * changed.
 */
export const schemaVersion = 1;

/** Event type that publishers can subscribe to. The module that raises the event exports it. */
export type EventType = {
  /** Identifier such as `usp.selection`, used in `webhook_endpoints.event`, in `perkwire-event` and in URLs. */
  name: string;
  /** Short title for users. The description below it has one sentence. */
  title: string;
  description: string;
  /** Whether the event is about the service itself and not about user activity. */
  isOperational?: true;
  /** Whether listeners receive the event only if they request it by name. */
  isNamedOnly?: true;
  /** JSON schema of the payload. */
  payload: TSchema;
  /**
   * Builds the sample payload for Test Endpoint. It contains generated data, but is built by the same code as real
   * payloads, so that no field is missing. Links in it contain no valid token.
   */
  sample: (context: SampleContext) => Buffer;
};

/** Registered event types by name, in registration order. */
export type EventTypes = ReadonlyMap<string, EventType>;

export const registerEventTypes = (types: readonly EventType[]): EventTypes =>
  new Map(types.map((type) => [type.name, type]));

/**
 * Returns the event type with this name.
 * @throws AppError `endpoint_not_found` if the name is unknown
 */
export function requireEventType(events: EventTypes, name: string): EventType {
  const type = events.get(name);
  if (type === undefined)
    throw new AppError('endpoint_not_found', {
      message: problem('noEvent', { events: [...events.keys()].join(', ') }),
    });
  return type;
}

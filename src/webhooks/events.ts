import type { TSchema } from '@sinclair/typebox';
import type { Publisher } from '../catalog/types.ts';

import { AppError } from '../platform/errors.ts';

/** What a sample payload is built from. `nowMs`: epoch milliseconds. */
export type SampleContext = { publisher: Publisher; publicUrl: string; nowMs: number };

/** Version of the payload schemas. New fields may be added to a version; nothing of it is removed or changed. */
export const schemaVersion = 1;

/** An event that publishers can subscribe to. The module that causes it exports its type. */
export type EventType = {
  /** Identifier in `webhook_endpoints.event`, `perkwire-event` and URLs, such as `usp.selection`. */
  name: string;
  /** Short title and one sentence for users. */
  title: string;
  description: string;
  /** Of the service itself, not of a user's activity. */
  isOperational?: true;
  /** Listeners get it only where they name it. */
  isNamedOnly?: true;
  /** JSON schema of the payload. */
  payload: TSchema;
  /**
   * The payload of Test Endpoint: invented data, written by the code that builds real payloads, so that every field is
   * there. Its links carry no valid token.
   */
  sample: (context: SampleContext) => Buffer;
};

/** The registered event types by name, in the order of registration. */
export type EventTypes = ReadonlyMap<string, EventType>;

export const registerEventTypes = (types: readonly EventType[]): EventTypes =>
  new Map(types.map((type) => [type.name, type]));

/** @throws AppError `endpoint_not_found` */
export function requireEventType(events: EventTypes, name: string): EventType {
  const type = events.get(name);
  if (type === undefined)
    throw new AppError('endpoint_not_found', {
      message: `No such event. There are: ${[...events.keys()].join(', ')}.`,
    });
  return type;
}

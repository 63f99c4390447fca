import { Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { kindsWith } from '../catalog/event-kinds.ts';
import type { LoggedEvent } from '../catalog/types.ts';

/** Format version. Increment it with every change that earlier releases can't read. */
const version = 1;

const uuid = Type.String({ pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$' });
const int32 = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 });
const isMessage = TypeCompiler.Compile(
  Type.Object({
    version: Type.Literal(version),
    events: Type.Array(
      Type.Object({
        kind: Type.Union(kindsWith('token').map((kind) => Type.Literal(kind))),
        claims: Type.Object({
          publisherId: int32,
          sessionId: Type.Union([uuid, Type.Null()]),
          offerId: int32,
          campaignId: int32,
          position: Type.Integer({ minimum: 0, maximum: 255 }),
          dev: Type.Boolean(),
        }),
        sessionId: uuid,
        atMs: Type.Integer({ minimum: 0, maximum: 8.64e15 }),
        suspicious: Type.Union([Type.Literal('bot'), Type.Literal('qr'), Type.Null()]),
        revenueMicros: Type.Integer(),
        currency: Type.Optional(Type.String({ pattern: '^[A-Z]{3}$' })),
        name: Type.Optional(Type.String()),
        optOutDays: Type.Optional(Type.Union([int32, Type.Null()])),
      }),
    ),
  }),
);

/** Thrown for a message that neither this release nor a later one can read. */
export class UnreadableMessageError extends Error {}

/** Thrown for a message that a later release wrote. It stays in the log until this process is updated. */
export class LaterVersionError extends Error {}

/** Encodes events as a log message: JSON in UTF-8. */
export const encodeMessage = (events: readonly LoggedEvent[]): Buffer =>
  Buffer.from(JSON.stringify({ version, events }));

/**
 * Decodes a log message.
 * @throws UnreadableMessageError, LaterVersionError
 */
export function decodeMessage(data: Uint8Array): LoggedEvent[] {
  const message = parse(data);
  if (typeof message.version === 'number' && message.version > version)
    throw new LaterVersionError(`a message of version ${message.version}; this program reads up to ${version}`);
  if (isMessage.Check(message)) return message.events;
  const problem = isMessage.Errors(message).First();
  throw new UnreadableMessageError(`${problem?.path ?? ''}: ${problem?.message ?? 'not a message'}`);
}

function parse(data: Uint8Array): { version?: unknown } {
  try {
    const message: unknown = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString());
    if (typeof message === 'object' && message !== null) return message;
  } catch {
    // Not JSON, which is reported below.
  }
  throw new UnreadableMessageError('not a JSON object');
}

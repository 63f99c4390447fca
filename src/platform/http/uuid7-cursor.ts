import { AppError } from '../errors.ts';
import { isPossibleUuid7, readUuid, writeUuid } from '../lib/uuid7.ts';
import { problem } from '../problem.ts';

/** Encodes a position in a list ordered by id: the id of the last row read. */
export function writeCursor(id: string): string {
  const bytes = Buffer.alloc(16);
  writeUuid(id, bytes, 0);
  return bytes.toString('base64url');
}

/**
 * Decodes a cursor.
 * @throws AppError `invalid_request` for anything but a cursor of `writeCursor`
 */
export function readCursor(text: string, nowMs: number): string {
  const bytes = Buffer.from(text, 'base64url');
  const id = bytes.length === 16 && bytes.toString('base64url') === text ? readUuid(bytes, 0) : '';
  if (isPossibleUuid7(id, nowMs)) return id;
  const details = [{ path: '/querystring/cursor', message: problem('nextCursor') }];
  throw new AppError('invalid_request', { details });
}

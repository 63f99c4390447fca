import { AppError } from '../errors.ts';
import { isPossibleUuid7, readUuid, writeUuid } from '../lib/uuid7.ts';
import { problem } from '../problem.ts';

/** Encodes a pagination cursor for a list ordered by ID: the ID of the last row on the page. */
export function writeCursor(id: string): string {
  const bytes = Buffer.alloc(16);
  writeUuid(id, bytes, 0);
  return bytes.toString('base64url');
}

/**
 * Decodes a pagination cursor.
 * @throws AppError `invalid_request` for any string that `writeCursor` did not create
 */
export function readCursor(text: string, nowMs: number): string {
  const bytes = Buffer.from(text, 'base64url');
  const id = bytes.length === 16 && bytes.toString('base64url') === text ? readUuid(bytes, 0) : '';
  if (isPossibleUuid7(id, nowMs)) return id;
  const details = [{ path: '/querystring/cursor', message: problem('nextCursor') }];
  throw new AppError('invalid_request', { details });
}

import { AppError } from '../errors.ts';
import { createPacer } from '../lib/slices.ts';
import type { Problem } from '../problem.ts';

/**
 * Reads a whole request body. Its chunks are copied into the result in slices, because allocating 30 MB at once takes
 * 150 ms on systems where memory allocation is slow.
 * @param tooLarge error message for bodies larger than `maxBytes`
 * @throws AppError body_too_large; malformed_request if the body ended early or cannot be decompressed
 */
export async function readBytes(
  payload: AsyncIterable<Buffer>,
  { maxBytes, tooLarge }: { maxBytes: number; tooLarge?: Problem },
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of payload) {
      length += piece.length;
      if (length > maxBytes) throw new AppError('body_too_large', tooLarge === undefined ? {} : { message: tooLarge });
      pieces.push(piece);
    }
  } catch (err) {
    throw err instanceof AppError ? err : new AppError('malformed_request', { cause: err });
  }
  const pace = createPacer();
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
    await pace();
  }
  return bytes;
}

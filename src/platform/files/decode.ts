import { AppError } from '../errors.ts';
import { createPacer } from '../lib/slices.ts';
import { type Problem, problem } from '../problem.ts';

/** Number of bytes decoded before each pause. Decoding this many takes about a millisecond. */
const sliceBytes = 16 * 1024;

/** Number of bytes at the start of a file that are inspected to detect its encoding and type. */
const probeBytes = 1024;

export type FileSource = Buffer | AsyncIterable<Buffer>;

type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be';

/** Magic bytes of unsupported file types, each with advice for the user. */
const otherTypes: readonly [string, Problem][] = [
  ['504b0304', problem('fileWorkbook')],
  ['d0cf11e0', problem('fileExcel')],
  ['25504446', problem('filePdf')],
  ['1f8b', problem('fileGzip')],
  ['fffe0000', problem('fileUtf32')],
  ['0000feff', problem('fileUtf32')],
];

/**
 * Decodes a file into UTF-8 chunks without a byte order mark. Pauses between chunks so that requests are not delayed.
 * UTF-16 is converted, with or without a byte order mark.
 * @throws AppError invalid_request for files that are not text
 */
export async function* decodeFile(source: FileSource): AsyncGenerator<Buffer, void> {
  const pace = createPacer();
  let decode: ((chunk: Buffer | null) => Buffer) | null = null;
  let head: Buffer = Buffer.alloc(0);
  async function* slices(bytes: Buffer): AsyncGenerator<Buffer, void> {
    for (let at = 0; at < bytes.length; at += sliceBytes) {
      yield bytes.subarray(at, at + sliceBytes);
      await pace();
    }
  }
  for await (const chunk of Buffer.isBuffer(source) ? [source] : source) {
    if (decode === null) {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      if (head.length < probeBytes) continue;
      decode = createDecoder(head);
      for await (const slice of slices(head)) yield decode(slice);
      head = Buffer.alloc(0);
    } else for await (const slice of slices(chunk)) yield decode(slice);
  }
  decode ??= createDecoder(head);
  if (head.length > 0) yield decode(head);
  yield decode(null);
}

/**
 * Creates a decoder for a file.
 * @returns a function that decodes a chunk, or flushes the remaining bytes if called with null
 */
function createDecoder(head: Buffer): (chunk: Buffer | null) => Buffer {
  const hex = head.subarray(0, 4).toString('hex');
  const other = otherTypes.find(([magic]) => hex.startsWith(magic));
  if (other !== undefined) throw new AppError('invalid_request', { message: other[1] });
  if (/^\s*<(!doctype|html|\?xml)/i.test(head.toString('latin1', 0, probeBytes)))
    throw new AppError('invalid_request', { message: problem('fileHtml') });
  const encoding = encodingOf(head);
  if (encoding === 'utf-8') {
    let isFirst = true;
    return (chunk) => {
      if (chunk === null) return Buffer.alloc(0);
      const hasMark = isFirst && chunk.subarray(0, 3).toString('hex') === 'efbbbf';
      isFirst = false;
      return hasMark ? chunk.subarray(3) : chunk;
    };
  }
  const decoder = new TextDecoder(encoding);
  return (chunk) => Buffer.from(chunk === null ? decoder.decode() : decoder.decode(chunk, { stream: true }));
}

function encodingOf(head: Buffer): Encoding {
  const mark = head.subarray(0, 2).toString('hex');
  if (mark === 'fffe') return 'utf-16le';
  if (mark === 'feff') return 'utf-16be';
  const probe = head.subarray(0, probeBytes);
  const pairs = Math.floor(probe.length / 2);
  const [even, odd] = [0, 0].map((_, parity) => {
    let nuls = 0;
    for (let at = parity; at < 2 * pairs; at += 2) if (probe[at] === 0) nuls += 1;
    return nuls;
  }) as [number, number];
  if (pairs < 2) return 'utf-8';
  if (odd > 0.8 * pairs && even === 0) return 'utf-16le';
  return even > 0.8 * pairs && odd === 0 ? 'utf-16be' : 'utf-8';
}
